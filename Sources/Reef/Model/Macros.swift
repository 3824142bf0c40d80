/// Makes a struct a stored type: writes its ``Model`` conformance.
///
/// Every stored property is kept, in the order of its declaration, except those marked ``Ignored()``. Computed and static
/// properties are left alone; ``Stored(as:)`` gives a property another name in the store. Types that can be stored are Bool, Int, Int8…Int64, UInt, UInt8…UInt64, Float, Double,
/// String, Data, Date and UUID, each also optional.
///
/// ```swift
/// @Model struct Spaceship {
///   @Key var id: Int
///   @Indexed var name: String
///   var maxSpeed: Double = 0
///   var launched: Date?
/// }
/// ```
///
/// What it writes, all of which can be written by hand instead: the schema, `Columns` for conditions and order, `View` for
/// reading in place, `Mutable` for changing, and the encoding of a whole value.
///
/// Mistakes are reported at the declaration: a type that cannot be stored, a second key, an optional key.
@attached(
  extension, conformances: Model,
  names: named(PrimaryKey), named(schema), named(columns), named(Columns), named(View), named(Mutable), named(encode),
  named(init))
public macro Model() = #externalMacro(module: "ReefMacros", type: "ModelMacro")

/// Marks the primary key of a ``Model()``: an Int, String or UUID, not optional, at most one.
///
/// Objects are stored in the order of their key and are found by it; a key never changes.
@attached(peer)
public macro Key() = #externalMacro(module: "ReefMacros", type: "MarkerMacro")

/// Marks a property of a ``Model()`` that gets an index: conditions on it find their objects without a scan.
@attached(peer)
public macro Indexed() = #externalMacro(module: "ReefMacros", type: "MarkerMacro")

/// Marks a property of a ``Model()`` that is not stored. It needs a default, which every object that is read starts with.
@attached(peer)
public macro Ignored() = #externalMacro(module: "ReefMacros", type: "MarkerMacro")

/// Gives a property of a ``Model()`` another name in the store than in the program: renaming it in the program, or naming
/// it like another program does, leaves the store as it is.
///
/// ```swift
/// @Stored(as: "max_speed") var maxSpeed: Double = 0
/// ```
@attached(peer)
public macro Stored(as name: String) = #externalMacro(module: "ReefMacros", type: "MarkerMacro")
