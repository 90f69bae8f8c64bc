public import BackstitchCore

extension RecordReading where Self: ~Copyable {
    /// The records of a query in their sections; all are held in memory.
    ///
    /// - Throws: `invalidQuery` if the query can't be answered.
    public func fetch<Key: AttributeValue, Model: Entity>(
        _ query: SectionedQuery<Key, Model>
    ) throws -> [QuerySection<Key, Model>] {
        try query.sections(of: fetch(query.query()))
    }
}
