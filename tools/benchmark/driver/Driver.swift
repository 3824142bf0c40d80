import CBench
import Foundation

@main enum Driver {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "case": Case.main(arguments.dropFirst())
    case "partner": Partner.main(arguments.dropFirst())
    default: Session(Options.parse(Array(arguments))).run()
    }
  }
}

/// One call of the driver: all trials, one after the other.
struct Session {
  let options: Options
  let place = Place.make()

  init(_ options: Options) { self.options = options }

  func run() {
    let report = Report(json: options.json)
    // An interrupt must not leave gigabytes in memory.
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        removeFolders()
        exit(128 + number)
      }
      source.resume()
      return source
    }
    report.begin(options: options)
    for trial in options.trials { measure(trial, report) }
    removeFolders()
    withExtendedLifetime(sources) {}
    if options.targets { report.judge() }
    if report.finish() > 0 { exit(1) }
  }

  private func measure(_ trial: Trial, _ report: Report) {
    let programs = trial.programs.filter(options.takesPart)
    let cases = programs.map { program in
      Case(
        workload: trial.workload, group: trial.group, program: program, n: trial.n, memory: place.memory,
        disk: place.disk, pace: options.pace)
    }
    let helpers = cases.map { Helper($0.arguments) }
    for helper in helpers { helper.expect("ready") }
    var results = [[[Measurement]]](repeating: [], count: programs.count)
    var loudest = 0.0
    // The first round warms up and is not counted; after it the programs take turns.
    for round in 0...options.runs {
      if round == 1 { loudest = Loudness.waitForQuiet(patience: options.patience ?? (options.quick ? 0 : 20)) }
      for (index, helper) in helpers.enumerated() {
        helper.send("run")
        guard let run = try? JSONDecoder().decode([Measurement].self, from: Data(helper.receive().utf8)) else {
          fail("\(helper.title) gave no measurement")
        }
        if round > 0 { results[index].append(run) }
      }
    }
    for helper in helpers { helper.finish() }
    for folder in [place.memory, place.disk] {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
    }
    report.add(trial, programs: programs, results: results, loudness: loudest)
  }
}
