public import BackstitchCore

/// The last record of an export that was cut, to go on behind it.
public struct ExportPlace: Hashable, Sendable {
    /// The name of the record's entity.
    public let entity: String
    /// The record's zone and name.
    public let record: RecordKey

    /// The place of a record.
    public init(entity: String, record: RecordKey) {
        self.entity = entity
        self.record = record
    }

    /// The place of the record that a line of an export spells, without the line's end; nil if it
    /// spells none.
    public init?(line: [UInt8]) {
        guard let line = try? RecordLine(line) else { return nil }
        self.init(entity: line.entity, record: line.key)
    }
}
