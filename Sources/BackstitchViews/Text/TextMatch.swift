public import BackstitchCore
import BackstitchLog
public import BackstitchStore

/// A record that a ``TextIndex`` found.
public struct TextMatch: Hashable, Sendable {
    /// The record.
    public let record: RecordID
    /// How well it fits (BM25); only the order of the matches of one query means something.
    public let score: Double
}

/// A record that a ``TextIndex`` found, with its values.
public struct TextHit<Model: Entity>: Sendable {
    /// The record.
    public let record: Model
    /// How well it fits (BM25); only the order of the hits of one query means something.
    public let score: Double
    private let texts: [String?]
    private let phrases: [TextPhrase]

    init(_ record: Model, _ score: Double, _ texts: [String?], _ phrases: [TextPhrase]) {
        self.record = record
        self.score = score
        self.texts = texts
        self.phrases = phrases
    }

    /// The part of the record's texts that shows best why it was found; cuts the texts into words again.
    ///
    /// - Parameter wordCount: The most words of the part, at least one.
    public func snippet(wordCount: Int = 24) -> TextSnippet {
        TextSnippet(of: texts, phrases, wordCount: max(1, wordCount))
    }
}

extension ProjectionView where Source == TextIndex {
    /// The records that a query finds, the best first; equally good ones are in the order of their
    /// entities and keys.
    ///
    /// Reads all entries of the words asked for, a few tenths of a microsecond each; for a beginning, those
    /// of all words that begin so.
    ///
    /// - Parameters:
    ///   - query: What is asked for; a query without words finds nothing.
    ///   - entity: The entity whose records count; nil for all.
    ///   - limit: The most records.
    /// - Throws: `unknownEntity`.
    public func matches(
        _ query: TextQuery, of entity: String? = nil, limit: Int = 50
    ) throws -> [TextMatch] {
        let number = try entity.map { try reader.table(named: $0).number }
        let found = try postings(of: query, number)
        return try found.best(limit).map { index in
            let (record, table) = try self.record(found, index)
            return TextMatch(
                record: RecordID(entity: table, key: record), score: found.numbers[index])
        }
    }

    /// The records of an entity that a query finds, the best first; as ``matches(_:of:limit:)``.
    ///
    /// If the index is `catchingUp`, records that were deleted since its last update are left out.
    ///
    /// - Parameter condition: A query whose conditions hold for the records too. It has no order, limit or
    ///   offset.
    /// - Throws: `unknownEntity` if the schema lacks the type; `unreadable`; `invalidQuery`.
    public func records<Model: Entity>(
        _ query: TextQuery, of type: Model.Type = Model.self, where condition: Query<Model>? = nil,
        limit: Int = 50
    ) throws -> [Model] {
        var records: [Model] = []
        try visit(query, condition, limit: limit) { record, _ in records.append(record) }
        return records
    }

    /// The records of an entity that a query finds, with scores, and with snippets when they are asked
    /// for; as ``records(_:of:where:limit:)``.
    public func hits<Model: Entity>(
        _ query: TextQuery, of type: Model.Type = Model.self, where condition: Query<Model>? = nil,
        limit: Int = 50
    ) throws -> [TextHit<Model>] {
        let phrases = (query.root?.wanted ?? []).compactMap { $0.without(projection.stopWords) }
        let source = projection.sources[try types.binding(of: type).name]
        var hits: [TextHit<Model>] = []
        try visit(query, condition, limit: limit) { record, score in
            hits.append(TextHit(record, score, source?.texts(record) ?? [], phrases))
        }
        return hits
    }

    private func postings(of query: TextQuery, _ entity: EntityNumber?) throws -> TextPostings {
        guard let root = query.root else { return TextPostings() }
        return try TextSearch(self, entity: entity).postings(of: root)
    }

    private func record(
        _ found: TextPostings, _ index: Int
    ) throws -> (RecordKey, table: String) {
        let posting = found.posting(index)
        guard let record = posting.record, let table = reader.catalog.table(posting.entity) else {
            throw StoreError(
                .damaged, "An entry of the text index can't be read. Rebuild the projection.")
        }
        return (record, table.name)
    }

    /// Visits the records that a query finds and a condition holds for, the best first.
    private func visit<Model: Entity>(
        _ query: TextQuery, _ condition: Query<Model>?, limit: Int,
        _ visit: (Model, Double) -> Void
    ) throws {
        let binding = try types.binding(of: Model.self)
        let filter = try condition.map { try reader.filter(by: $0, binding) }
        let found = try postings(of: query, binding.number)
        var left = max(0, limit)
        // Without a condition, the best are nearly always as many as are wanted.
        var ranked = found.best(filter == nil ? left : found.count)[...]
        var seen = 0
        while left > 0, let index = ranked.popFirst() {
            seen += 1
            let (key, _) = try record(found, index)
            if let filter, try !filter(key) { continue }
            if let model = try reader.find(EntityID<Model>(key: key), binding) {
                visit(model, found.numbers[index])
                left -= 1
            }
            if ranked.isEmpty, left > 0, seen < found.count {
                ranked = found.best(found.count)[seen...]
            }
        }
    }
}
