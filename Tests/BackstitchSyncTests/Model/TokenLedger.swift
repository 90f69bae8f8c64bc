import Backstitch
import BackstitchCore
import BackstitchStore
import Threading

/// A record whose values are saved once each, in any field of any record.
@Entity("Sheet") struct Sheet: Equatable {
    var id = ID()
    var title: String
    var body: String?
    var tail: String?
}

extension Sheet {
    /// The values by attribute.
    var texts: [String: String] {
        var texts = ["title": title]
        texts["body"] = body
        texts["tail"] = tail
        return texts
    }
}

extension [String: RecordValue] {
    /// The texts by attribute.
    var texts: [String: String] {
        compactMapValues { value -> String? in
            if case .string(let text) = value { text } else { nil }
        }
    }
}

extension NamedFields {
    /// The texts by field.
    var texts: [String: String] {
        reduce(into: [:]) { texts, field in
            if case .string(let text) = field.value { texts[field.key] = text }
        }
    }
}

extension Store {
    /// The values of all sheets, by name and attribute.
    func sheets() throws -> [String: [String: String]] {
        let all = try read { try $0.fetch(Sheet.self) }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.id.name, $0.texts) })
    }
}

/// Accounts for values, each of which is saved once: at the end it is somewhere, or a later write that
/// saw it replaced it, or a conflict journal has it. One that was replaced comes back by a conflict only.
final class TokenLedger: Sendable {
    private struct State {
        var count = 0
        var saved: Set<String> = []
        var replaced: Set<String> = []
    }

    private let state = Locked(State())

    /// How many values were saved.
    var savedCount: Int { state.withLock { $0.saved.count } }

    /// A value that was never given before.
    func token() -> String {
        state.withLock { state in
            state.count += 1
            return "t\(state.count)"
        }
    }

    /// Notes a value as saved.
    func note(_ token: String) {
        state.withLock { _ = $0.saved.insert(token) }
    }

    /// Changes sheets in one transaction, and notes which values it added and which it took away.
    func write(
        to store: Store,
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
    ) async throws {
        let change: [Set<String>] = try await store.write { transaction in
            let before = Self.tokens(try transaction.fetch(Sheet.self))
            try body(transaction)
            return [before, Self.tokens(try transaction.fetch(Sheet.self))]
        }
        // The application's answers to conflicts are no such values: one of them is given often.
        state.withLock { state in
            state.saved.formUnion(change[1].subtracting(change[0]))
            state.replaced.formUnion(
                change[0].subtracting(change[1]).subtracting([PolicyWords.answered]))
        }
    }

    private static func tokens(_ sheets: [Sheet]) -> Set<String> {
        Set(sheets.flatMap { $0.texts.values })
    }

    /// The values that are neither in some records nor in the journals, and that nobody replaced.
    func lost(
        present records: [String: [String: String]], journals: [RecordConflict]
    ) -> [String] {
        state.withLock { $0.saved.subtracting($0.replaced) }
            .subtracting(Self.tokens(records)).subtracting(Self.tokens(journals)).sorted()
    }

    /// The values that were replaced, and that some records have again without a conflict of the
    /// journals about them.
    func returned(
        present records: [String: [String: String]], journals: [RecordConflict]
    ) -> [String] {
        state.withLock { $0.replaced }.intersection(Self.tokens(records))
            .subtracting(Self.tokens(journals)).sorted()
    }

    private static func tokens(_ records: [String: [String: String]]) -> Set<String> {
        Set(records.values.flatMap(\.values))
    }

    private static func tokens(_ journals: [RecordConflict]) -> Set<String> {
        Set(
            journals.flatMap { [$0.local, $0.server] }.flatMap { $0?.texts.values.map { $0 } ?? [] }
        )
    }
}
