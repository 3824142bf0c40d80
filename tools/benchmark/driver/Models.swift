import Reef

/// The object of docs/measuring.md.
@Model struct Item {
  @Key var id: Int
  var name: String
  var score: Double
  var qty: Int
  var flag: Bool
}

/// The same with its name as the key (W3 `string`).
@Model struct NamedItem {
  var id: Int
  @Key var name: String
  var score: Double
  var qty: Int
  var flag: Bool
}

/// The same with an index on its name (W5 `equal-indexed`).
@Model struct IndexedItem {
  @Key var id: Int
  @Indexed var name: String
  var score: Double
  var qty: Int
  var flag: Bool
}

/// What W9's sender changes: the clock, a sequence number, and a text where the workload has one.
@Model struct Beat {
  @Key var id: Int
  var sentAt: Int
  var sequence: Int
  var text: String
}
