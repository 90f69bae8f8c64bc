public import BackstitchCore

extension Store {
    /// Writes records as JSON Lines, one record a line, in a form that is read back exactly.
    ///
    /// ```json
    /// {"entity":"Note","record":"n0","values":{"stars":{"int64":1},"title":{"string":"Note 0"}}}
    /// ```
    ///
    /// Values are objects with one member that names their kind: `bool`, `int64`, `double`, `string`,
    /// `bytes` (Base64), `date` (milliseconds since 1970), `decimal` (text), `uuid`, `reference` (a
    /// record name), `location`, `list`. Attributes without a value are left out; those that no schema
    /// declares are there. Records are in the order of the catalog's entities and of their keys.
    /// Deleted ones, and what is known of the service, are not written.
    ///
    /// The closure gets the lines in parts of some 64 KiB, each of whole lines and each an array of its own,
    /// which costs a copy of the part. All are of one moment of the store, which is held until the last is taken:
    /// the space of what is deleted meanwhile is not used again. Memory does not grow with the store.
    ///
    /// - Parameters:
    ///   - entities: The names of the entities; nil for all.
    ///   - place: Where an earlier export ended; what is written then is of this moment, not of that.
    ///   - progress: Called with the number of records so far, after each part.
    /// - Returns: the number of records.
    /// - Throws: `unknownEntity`; `damaged` if a row can't be read; what the closure throws.
    @discardableResult
    public func export(
        entities: [String]? = nil, after place: RecordID? = nil,
        progress: (Int) -> Void = { _ in }, to write: ([UInt8]) throws -> Void
    ) throws -> Int {
        let export = RecordExport(entities: entities, place: place)
        return try read { try export.run($0, progress, to: write) }
    }
}

extension RecordID {
    /// Reads the record's identity from a line of an export, without the line break; nil if the
    /// line is invalid.
    ///
    /// The last whole line of an interrupted export tells where to continue.
    public init?(exportLine line: [UInt8]) {
        guard let line = try? RecordLine(line) else { return nil }
        self.init(entity: line.entity, key: line.key)
    }
}
