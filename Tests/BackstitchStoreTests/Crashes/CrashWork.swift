import Backstitch
import BackstitchCore
import CrashStates

@testable import BackstitchStore

/// Everything that a store does with its files, at random.
struct CrashWork {
    /// A kind of work.
    enum Step: CaseIterable {
        case save, batch, delete, group, acknowledge, compact, rebuild, migrate
    }

    private let path: String
    private var states: [[String: Int]] = [[:]]
    private var steps: [Step] = []
    private var groups = 0
    private var isMigrated = false

    /// Makes a store and records what is done with it.
    static func history(
        at path: String, using random: inout SeededGenerator
    ) async throws -> CrashHistory {
        var work = CrashWork(path: path)
        let store = try Store(at: path, schema: FirstVersion.schema)
        let recorder = Recorder(of: path, names: CrashHistory.names)
        do {
            try await work.run(store, recorder, &random)
        } catch {
            _ = recorder.end()
            throw error
        }
        return CrashHistory(recording: recorder.end(), states: work.states, steps: work.steps)
    }

    private mutating func run(
        _ first: Store, _ recorder: Recorder, _ random: inout SeededGenerator
    ) async throws {
        var store = first
        for _ in 0..<Int.random(in: 6...25, using: &random) {
            let step = Step.allCases.randomElement(using: &random) ?? .save
            steps.append(step)
            recorder.mark(2 * (steps.count - 1))
            store = try await self.work(step, on: store, recorder, &random)
            recorder.mark(2 * (steps.count - 1) + 1)
        }
        store.close()
    }

    private mutating func work(
        _ step: Step, on store: Store, _ recorder: Recorder, _ random: inout SeededGenerator
    ) async throws -> Store {
        var state = states[states.count - 1]
        defer { states.append(state) }
        switch step {
        case .save, .batch:
            let count = step == .save ? 1 : Int.random(in: 2...60, using: &random)
            var saved: [String: Int] = [:]
            for _ in 0..<count {
                saved["r\(Int.random(in: 0..<80, using: &random))"] =
                    Int.random(in: 0..<1_000_000, using: &random)
            }
            try await save(saved, in: store)
            state.merge(saved) { $1 }
        case .delete:
            let names = state.keys.sorted().filter { _ in Int.random(in: 0..<4, using: &random) == 0
            }
            let isMigrated = isMigrated
            try await store.write { tx in
                for name in names { try CrashRecords.delete(name, isMigrated, tx) }
            }
            for name in names { state[name] = nil }
        case .group:
            groups += 1
            try await saveTogether(in: store, recorder)
        case .acknowledge:
            try await CrashRecords.acknowledge(in: store, tag: steps.count)
        case .compact:
            _ = try await store.compact(.keepUnsyncedOnly)
        case .rebuild:
            try await store.rebuild()
        case .migrate:
            guard !isMigrated else { return store }
            isMigrated = true
            store.close()
            let migrated = try Store(at: path, schema: SecondVersion.schema)
            try await migrated.prepareIndexes()
            return migrated
        }
        return store
    }

    private func save(_ values: [String: Int], in store: Store) async throws {
        let isMigrated = isMigrated
        try await store.write { tx in
            for (name, value) in values.sorted(by: { $0.key < $1.key }) {
                try CrashRecords.save(name, value, isMigrated, tx)
            }
        }
    }

    /// Saves from several tasks at once, so that they share commits. Each has a record that counts.
    private func saveTogether(in store: Store, _ recorder: Recorder) async throws {
        let (isMigrated, round) = (isMigrated, groups)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<CrashHistory.writers {
                group.addTask {
                    for part in 1...3 {
                        let value = 3 * (round - 1) + part
                        recorder.mark(CrashHistory.mark(writer, value, hasReturned: false))
                        try await store.write { tx in
                            try CrashRecords.save("g\(writer)", value, isMigrated, tx)
                        }
                        recorder.mark(CrashHistory.mark(writer, value, hasReturned: true))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
