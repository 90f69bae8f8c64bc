/// What a baseline carries, read in place. Valid as long as its bytes are.
///
/// | bytes | meaning |
/// |---|---|
/// | 4 | byte count of what follows; 0 if the record is not parked |
/// | 8, n | sequence of the operation that parked it, big-endian; the reason |
/// | rest | the row |
@safe
package struct BaselineView {
    package let row: RowView
    /// The operation that parked the record, and why.
    package let park: (sequence: UInt64, reason: UnsafeRawBufferPointer)?
    /// The value of the record's entry among the parked ones; nil if it is not parked.
    package let parkBytes: UnsafeRawBufferPointer?

    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 4 else { return nil }
        let count = unsafe Int(bytes.little(UInt32.self, at: 0))
        guard count == 0 || count >= 8, 4 + count <= bytes.count,
            let row = unsafe RowView(bytes.part((4 + count)..<bytes.count)),
            row.flags.contains(.isParked) == (count > 0)
        else { return nil }
        self.row = row
        guard count > 0 else {
            unsafe (park, parkBytes) = (nil, nil)
            return
        }
        let part = unsafe bytes.part(4..<(4 + count))
        let sequence = unsafe UInt64(bigEndian: part.loadUnaligned(as: UInt64.self))
        unsafe park = (sequence, part.part(8..<count))
        unsafe parkBytes = part
    }
}
