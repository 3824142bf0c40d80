import CReefSystem

/// The checksum of a root slot: XXH3 of the 120 bytes before it.
package enum SlotChecksum {
  package static func of(_ slot: UnsafeRawPointer) -> UInt64 { reef_slot_checksum(slot) }
}
