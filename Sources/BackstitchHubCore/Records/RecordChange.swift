/// What a request changed, for those who want to know.
struct RecordChange: Sendable {
    enum Kind: Int64 {
        case created = 1
        case updated = 2
        case deleted = 3

        /// The word for it in `firesOn`.
        var name: String {
            switch self {
            case .created: "create"
            case .updated: "update"
            case .deleted: "delete"
            }
        }

        /// The kind of a word in `firesOn`; nil if it is none.
        init?(name: String) {
            let kinds: [Kind] = [.created, .updated, .deleted]
            guard let kind = kinds.first(where: { $0.name == name }) else { return nil }
            self = kind
        }
    }

    var kind: Kind
    var record: StoredRecord
}
