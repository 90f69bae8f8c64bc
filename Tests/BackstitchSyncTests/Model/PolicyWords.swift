import BackstitchCore
import BackstitchSync

/// What a conflict comes to by the words of the guide, written anew and without the code of a merge.
struct PolicyWords: Sendable {
    private typealias Side = [String: String]

    let policy: ConflictPolicy
    let deletePolicy: ConflictRules.DeletePolicy

    /// The value that the application decides for.
    static let answered = "answered"

    // MARK: The application's answers

    /// What the application says of a conflict; it follows from the sides.
    static func answer(to conflict: RecordConflict) -> RecordConflict.Resolution {
        switch lot(of: conflict) % 4 {
        case 0: .server
        case 1: .client
        case 2: .fields(["title": .string(answered)])
        default: .keepBoth
        }
    }

    /// Whether the application does not decide the conflict before the troubles are over.
    static func isHard(_ conflict: RecordConflict) -> Bool { lot(of: conflict) / 4 % 3 == 0 }

    /// FNV-1a over the sides.
    private static func lot(of conflict: RecordConflict) -> UInt64 {
        let sides = [conflict.base, conflict.local, conflict.server].map { side -> String in
            guard let side else { return "none" }
            return side.texts.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: ",")
        }
        var hash: UInt64 = 14_695_981_039_346_656_037
        for byte in sides.joined(separator: "|").utf8 {
            hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211
        }
        // The low bits of a product say little.
        return hash >> 20
    }

    // MARK: Verdicts

    /// Whether a conflict of the journal ended as the policies say.
    ///
    /// The journal has no times: either side may have been the later one.
    func isRight(_ conflict: RecordConflict) -> Bool {
        let (local, server) = (conflict.local?.texts, conflict.server?.texts)
        let outcome = conflict.outcome?.texts
        let ends: [Side?]
        if let local, let server {
            if case .merge(let otherwise) = policy {
                return isMerged(conflict, by: otherwise, local, server)
            }
            ends = wholes(policy, conflict, local, server)
        } else {
            switch deletePolicy {
            case .deleteWins: ends = [nil]
            case .editWins: ends = [local ?? server]
            case .followPolicy:
                if case .merge(let otherwise) = policy {
                    ends = wholes(otherwise, conflict, local, server)
                } else {
                    ends = wholes(policy, conflict, local, server)
                }
            }
        }
        return ends.contains(outcome)
    }

    /// Which versions a conflict may end with, if whole ones are decided about.
    private func wholes(
        _ policy: ConflictPolicy, _ conflict: RecordConflict, _ local: Side?, _ server: Side?
    ) -> [Side?] {
        switch policy {
        case .serverWins: return [server]
        case .clientWins: return [local]
        case .lastWriterWins: return server == nil ? [local] : [server, local]
        case .keepBoth: return local == nil || conflict.copy != nil ? [server] : []
        case .resolver:
            switch Self.answer(to: conflict) {
            case .server: return [server]
            case .client: return [local]
            case .keepBoth: return local == nil || conflict.copy != nil ? [server] : []
            case .fields(let values):
                return [(server ?? local ?? [:]).merging(values.texts) { $1 }]
            case .park: return []
            }
        case .merge: return []
        }
    }

    /// Whether each field that one side changed is that side's, and the fields that both changed are as
    /// the other policy says.
    private func isMerged(
        _ conflict: RecordConflict, by otherwise: ConflictPolicy, _ local: Side, _ server: Side
    ) -> Bool {
        let base = conflict.base?.texts ?? [:]
        let outcome = conflict.outcome?.texts ?? [:]
        let fields = Set(base.keys).union(local.keys).union(server.keys).union(outcome.keys)
        let wholes = wholes(otherwise, conflict, local, server)
        // Two whole versions are kept as they are.
        if conflict.copy != nil { return wholes == [server] && outcome == server }
        return wholes.contains { whole in
            fields.allSatisfy { field in
                let (mine, theirs) = (local[field], server[field])
                if mine == theirs { return outcome[field] == mine }
                if theirs == base[field] { return outcome[field] == mine }
                if mine == base[field] {
                    // Without a base it is not told whether the field was cleared here.
                    return outcome[field] == theirs
                        || (conflict.base == nil && outcome[field] == whole?[field])
                }
                return outcome[field] == whole?[field]
            }
        }
    }
}
