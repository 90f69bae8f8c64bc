import BackstitchCore
public import BackstitchStore

/// Full-text search: finds records whose texts contain given words, phrases, or words that begin with
/// what was typed, the best first.
///
/// ```swift
/// let search = TextIndex("search", TextSource(Employee.self, \.name, \.notes, weights: [4, 1]))
/// let store = try Store(
///     at: directory, schema: schema, configuration: StoreConfiguration(projections: [search]))
/// let found = try store.read { try $0.view(of: search).records("ada lov", of: Employee.self) }
/// ```
///
/// Words are cut at the word boundaries of Unicode, without case and diacritics: `cafe` finds `Café`.
/// The index knows each word's places. A change of a record costs an entry for each word that comes or
/// goes, or stands elsewhere in its text; text that is appended leaves the other words' entries alone.
/// Words beyond 200 bytes are known by these.
public struct TextIndex: RecordProjection {
    /// The way in which entries are written; another one lets the index be built anew.
    private static let format = 1

    /// Frequent words of English that tell little, to be left out: `stopWords: TextIndex.englishStopWords`.
    public static let englishStopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it",
        "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
        "they",
        "this", "to", "was", "will", "with",
    ]

    /// The name of the view in the store.
    public let name: String
    /// The version that was given, times 256, and that of the way in which entries are written.
    public let version: Int
    /// Whether the view is updated within each write, or catches up afterwards.
    public let mode: ProjectionMode
    /// The entities of the sources.
    public var entities: ProjectedEntities { .named(Set(sources.keys)) }

    let sources: [String: TextSource]
    let stopWords: Set<String>

    /// An index of texts of one or several entities. If an entity has several sources, only the
    /// last counts.
    ///
    /// - Parameters:
    ///   - stopWords: Words that are not kept, and not asked for: the index is smaller, and a phrase
    ///     takes any word in their place.
    ///   - version: From 0 to 16,777,215; change it with the texts of the sources and the stop words.
    public init(
        _ name: String, _ sources: TextSource..., stopWords: Set<String> = [], version: Int = 0,
        mode: ProjectionMode = .inline
    ) {
        self.name = name
        self.version = version << 8 | Self.format
        self.mode = mode
        self.sources = Dictionary(sources.map { ($0.entity, $0) }) { $1 }
        var folded: Set<String> = []
        for word in stopWords { TextTokens.forEach(in: word) { token, _ in folded.insert(token) } }
        self.stopWords = folded
    }

    /// Removes the words that the record lost, and adds the new ones.
    public func apply(
        _ change: borrowing ProjectedChange, to view: borrowing ViewEditor
    ) throws {
        guard let source = sources[change.entity] else { return }
        let textsBefore = try source.before(change)
        let textsAfter = try source.after(change)
        guard textsBefore != textsAfter else { return }
        let before = TextDocument(textsBefore, stopWords: stopWords)
        let after = TextDocument(textsAfter, stopWords: stopWords)
        let entity = change.table.number
        let posting = TextPosting(entity: entity, record: change.key)
        for token in before.words.keys where after.words[token] == nil {
            try view.delete(posting.key(of: token))
        }
        for (token, occurrences) in after.words {
            let value = occurrences.value(length: after.length)
            // What the record had is not looked up if it is known to be the same.
            if let old = before.words[token], old.value(length: before.length) == value { continue }
            try view.put(value, for: posting.key(of: token))
        }
        let records = (after.wordCount > 0 ? 1 : 0) - (before.wordCount > 0 ? 1 : 0)
        if records != 0 {
            try view.add(Int64(records), to: TextPosting.recordCount(of: entity))
        }
        if after.wordCount != before.wordCount {
            try view.add(
                Int64(after.wordCount - before.wordCount), to: TextPosting.wordCount(of: entity))
        }
    }
}

/// The words of a record's texts, with their places.
struct TextDocument {
    private(set) var words: [String: TextOccurrences] = [:]
    /// The number of all words that are kept.
    private(set) var wordCount = 0

    var length: TextLength { TextLength(wordCount: wordCount) }

    init(_ texts: [String?], stopWords: Set<String>) {
        for (number, text) in texts.enumerated() {
            guard let text else { continue }
            var place = 0
            TextTokens.forEach(in: text) { token, _ in
                if stopWords.isEmpty || !stopWords.contains(token) {
                    words[token, default: TextOccurrences()].append(place, inText: number)
                    wordCount += 1
                }
                place += 1
            }
        }
    }
}
