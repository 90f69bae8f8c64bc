/// Where a set of record keys comes from: parts of indexes, put together.
package indirect enum KeySource: Hashable, Sendable {
    case index(AttributeBinding, [KeyRange])
    case referrers(AttributeBinding, [RecordKey])
    case records([RecordKey])
    /// The keys of any part.
    case union([KeySource])
    /// The keys of all parts, the one with the fewest first.
    case intersection([KeySource])

    /// Visits the stored keys, some of them more than once, in no particular order.
    func visit<Source: RowSource & ~Copyable>(
        of entity: EntityNumber, on source: borrowing Source,
        _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool {
        var goesOn = true
        switch self {
        case .index(let attribute, let ranges):
            for range in ranges where goesOn {
                try unsafe source.visitIndex(
                    of: entity, attribute: attribute, within: range, reversed: false,
                    readsRows: false
                ) { _, key in
                    goesOn = try unsafe visit(key)
                    return goesOn
                }
            }
        case .referrers(let attribute, let targets):
            for target in targets where goesOn {
                try unsafe source.visitReferrers(
                    of: entity, attribute: attribute, target: target, from: [],
                    readsRows: false
                ) { key in
                    goesOn = try unsafe visit(key)
                    return goesOn
                }
            }
        case .records(let keys):
            for key in keys where goesOn {
                goesOn = try unsafe key.bytes.withUnsafeBytes { key in
                    try unsafe source.withRow(of: entity, key: key) { _ in try unsafe visit(key) }
                        ?? true
                }
            }
        case .union(let parts):
            for part in parts where goesOn {
                goesOn = try unsafe part.visit(of: entity, on: source, visit)
            }
        case .intersection(let parts):
            let keys = try KeySet(.intersection(parts), of: entity, on: source)
            try unsafe keys.visit { key in
                goesOn = try unsafe visit(key)
                return goesOn
            }
        }
        return goesOn
    }
}
