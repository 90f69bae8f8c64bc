public import BackstitchCore

extension RecordReading where Self: ~Copyable {
    /// The records of a query in sections, all held in memory; throws what other fetches do.
    public func fetch<Key: AttributeValue, Model: Entity>(
        _ query: Query<Model>.Sections<Key>
    ) throws -> [Query<Model>.Sections<Key>.Section] {
        try query.sections(of: fetch(query.query()))
    }
}
