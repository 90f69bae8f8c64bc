/// What the service said of a record's version, and which local operations that covers.
package struct SyncStamp: Hashable, Sendable {
    /// The change tag; empty if the service has no such record.
    package var changeTag: String
    /// The service's modification time, milliseconds since 1970; 0 if it is not known.
    package var modifiedMilliseconds: Int64
    /// The local operations of the record up to this sequence are on the service.
    package var acknowledgedThrough: UInt64

    package init(changeTag: String, modifiedMilliseconds: Int64, acknowledgedThrough: UInt64) {
        self.changeTag = changeTag
        self.modifiedMilliseconds = modifiedMilliseconds
        self.acknowledgedThrough = acknowledgedThrough
    }
}
