public import BackstitchCore
public import BackstitchStore

/// Full-text search: finds records whose texts contain given words, or words that begin with them.
///
/// ```swift
/// let search = TextIndex("search", TextSource(Employee.self, \.name, \.nickname))
/// let store = try Store(
///     at: directory, schema: schema, configuration: StoreConfiguration(projections: [search]))
/// let found = try store.read { try $0.view(of: search).records("ada lov", of: Employee.self) }
/// ```
///
/// Words are cut at the word boundaries of Unicode, without case and diacritics: `cafe` finds `Café`.
/// A change of a record costs an entry for each word that comes, goes, or occurs more or less often;
/// others cost nothing. Words beyond 200 bytes are known by these.
public struct TextIndex: RecordProjection {
    /// The name of the view in the store.
    public let name: String
    /// The version; change it with the sources.
    public let version: Int
    /// Whether the view is updated within each write, or catches up afterwards.
    public let mode: ProjectionMode
    /// The entities of the sources.
    public var entities: ProjectedEntities { .named(Set(sources.keys)) }

    private let sources: [String: TextSource]

    /// An index of texts of one or several entities. If an entity has several sources, only the
    /// last counts.
    public init(
        _ name: String, _ sources: TextSource..., version: Int = 0, mode: ProjectionMode = .inline
    ) {
        self.name = name
        self.version = version
        self.mode = mode
        self.sources = Dictionary(sources.map { ($0.entity, $0) }) { $1 }
    }

    /// Removes the words that the record lost, and adds the new ones.
    public func apply(
        _ change: borrowing ProjectedChange, to view: borrowing ViewEditor
    ) throws {
        guard let source = sources[change.entity] else { return }
        let textsBefore = try source.before(change)
        let textsAfter = try source.after(change)
        guard textsBefore != textsAfter else { return }
        let before = TextTokens.counts(in: textsBefore)
        let after = TextTokens.counts(in: textsAfter)
        let posting = TextPosting(entity: change.table.number, record: change.key)
        for token in before.keys where after[token] == nil {
            try view.delete(posting.key(of: token))
        }
        for (token, count) in after where before[token] != count {
            try view.put(
                count.littleEndianBytes, for: posting.key(of: token))
        }
    }
}

/// The texts of an entity by which its records are found.
public struct TextSource: Sendable {
    /// The name of the entity.
    public let entity: String
    let before: @Sendable (borrowing ProjectedChange) throws -> [String]
    let after: @Sendable (borrowing ProjectedChange) throws -> [String]

    /// Texts of an entity: key paths of attributes, or any functions of the record; nil is no text.
    public init<Model: Entity>(
        _ type: Model.Type, _ texts: (@Sendable (Model) -> String?)...
    ) {
        entity = Model.entityName
        before = { change in
            guard let model = try change.before(Model.self) else { return [] }
            return texts.compactMap { $0(model) }
        }
        after = { change in
            guard let model = try change.after(Model.self) else { return [] }
            return texts.compactMap { $0(model) }
        }
    }
}

/// Where a word stands: a record. Part of the keys of a ``TextIndex``.
///
/// | bytes | meaning |
/// |---|---|
/// | n | the word, UTF-8 |
/// | 1 | zero, which no word has |
/// | 2 | entity, big-endian |
/// | 18 to 258 | record key |
struct TextPosting: Hashable {
    /// The bytes behind the word and the zero.
    let bytes: [UInt8]

    init(entity: EntityNumber, record: RecordKey) {
        bytes = Self.prefix(of: entity) + record.bytes
    }

    /// Reads the end of a key, behind the word.
    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    static func prefix(of entity: EntityNumber) -> [UInt8] {
        entity.rawValue.bigEndianBytes
    }

    var entity: EntityNumber { EntityNumber(UInt16(bytes[0]) << 8 | UInt16(bytes[1])) }

    var record: RecordKey? {
        unsafe bytes.dropFirst(2).withUnsafeBytes { unsafe RecordKey(reading: $0) }
    }

    func key(of token: String) -> ViewKey { ViewKey(bytes: Self.start(token) + bytes) }

    /// What the keys of a word begin with.
    static func start(_ token: String) -> [UInt8] { Array(token.utf8) + [0] }
}
