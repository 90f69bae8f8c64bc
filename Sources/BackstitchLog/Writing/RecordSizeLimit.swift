import BackstitchCore

/// The largest record that a service takes, and what a write of a larger one leads to.
package struct RecordSizeLimit: Sendable {
    private let bytes: Int
    private let refusesLarger: Bool

    /// - Parameters:
    ///   - bytes: The most bytes of a record, as the service counts them.
    ///   - refusesLarger: Whether a larger record is refused; otherwise it is counted.
    package init(bytes: Int, refusesLarger: Bool) {
        self.bytes = bytes
        self.refusesLarger = refusesLarger
    }

    /// The name of the entity of a record that is to be pushed and is too large; nil for other records.
    ///
    /// - Parameters:
    ///   - header: The operation, which the tables have.
    ///   - rowBytesMax: The most bytes that the row can have; the row is not read if there are few.
    /// - Throws: `tooLarge` if such records are refused.
    func entity(
        ofTooLarge header: OperationHeader, _ rowBytesMax: Int, _ log: LogWriter
    ) throws -> String? {
        guard header.origin == .local, header.kind == .insert || header.kind == .update,
            rowBytesMax > bytes / ServiceMapping.countedPerStoredByte,
            let table = log.catalog.table(header.entity),
            let fields = try log.row(header.entity, header.key)?.fields
        else { return nil }
        let count = try ServiceMapping.countedBytes(of: fields, in: table, named: header.key.name)
        guard count > bytes else { return nil }
        guard refusesLarger else { return table.name }
        throw StoreError(
            .tooLarge,
            "The \(table.name) record \(header.key) has \(count) bytes without its files, and the "
                + "service takes \(bytes) at most. Keep what is large in an Asset, or in a Data "
                + "with @Attribute(.external).")
    }
}
