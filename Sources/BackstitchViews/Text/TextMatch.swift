public import BackstitchCore
import BackstitchLog
public import BackstitchStore

/// Which words of a search match every word that begins with them.
public enum TextPrefixes: String, Hashable, Sendable, CaseIterable {
    /// None: each is a whole word.
    case none
    /// Only the last word, which the user may still be typing.
    case last
    /// All of them.
    case all
}

/// A record that a ``TextIndex`` found.
public struct TextMatch: Hashable, Sendable {
    /// The record.
    public let record: RecordID
    /// The score: two for each occurrence of a word of the search, one for each word that only
    /// begins with one.
    public let score: Int
}

extension ProjectionView where Source == TextIndex {
    /// The records that contain all words of a text, the best first; equally good ones are in the
    /// order of their entities and keys.
    ///
    /// Costs some microseconds for each record with the longest word, and a scan of the words that
    /// begin with each prefix.
    ///
    /// - Parameters:
    ///   - text: The words, in any order; a text without any finds nothing.
    ///   - entity: The entity whose records count; nil for all.
    ///   - prefixes: Which words match every word that begins with them.
    ///   - limit: The most records.
    /// - Throws: `unknownEntity`.
    public func matches(
        _ text: String, of entity: String? = nil, prefixes: TextPrefixes = .last, limit: Int = 50
    ) throws -> [TextMatch] {
        let number = try entity.map { try reader.table(named: $0).number }
        let search = TextSearch(text, prefixes: prefixes, source.entries, entity: number)
        let sorted = try search.scores().sorted { left, right in
            if left.value != right.value { return left.value > right.value }
            return left.key.bytes.lexicographicallyPrecedes(right.key.bytes)
        }
        return try sorted.prefix(max(0, limit)).map { posting, score in
            guard let record = posting.record, let table = reader.catalog.table(posting.entity)
            else {
                throw StoreError(
                    .damaged, "An entry of the text index can't be read. Rebuild the projection.")
            }
            return TextMatch(
                record: RecordID(entity: table.name, key: record), score: score)
        }
    }

    /// The records of an entity that have all words of a text, the best first; as
    /// ``matches(_:of:prefixes:limit:)``.
    ///
    /// If the index is `catchingUp`, records that were deleted since its last update are left out.
    ///
    /// - Throws: `unknownEntity` if the schema lacks the type; `unreadable`.
    public func records<Model: Entity>(
        _ text: String, of type: Model.Type = Model.self, prefixes: TextPrefixes = .last,
        limit: Int = 50
    ) throws -> [Model] {
        let binding = try types.binding(of: type)
        return try matches(text, of: binding.name, prefixes: prefixes, limit: limit).compactMap {
            try reader.find(EntityID<Model>(key: $0.record.key), binding)
        }
    }
}
