import Backstitch
import BackstitchCore
import Dispatch
import Foundation
import Testing

@testable import BackstitchStore

/// Several handles of one store, and several threads.
@Suite struct SharedStoreTests {
    @Entity("Shared") struct Shared {
        var id = ID()
        var name: String
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/shared-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    /// Two handles of a store each had their own catalog, and gave the same number to the names
    /// that they met first; the fields of one then had the names of the other.
    @Test func `two handles never give one number to two names`() async throws {
        try await withFolder { path in
            let first = try Store(at: path, schema: Schema(Shared.self))
            let second = try Store(at: path, schema: Schema(Shared.self))
            for (store, field) in [(first, "one"), (second, "two"), (first, "three")] {
                try await store.writeContext { context in
                    _ = try context.merge(
                        ServiceRecord(
                            recordName: field, recordType: "Shared", changeTag: "t",
                            modifiedMilliseconds: 1,
                            fields: ["name": .string("x"), field: .string(field)]),
                        policy: .serverWins)
                }
            }
            first.close()
            second.close()
            let store = try Store(at: path, schema: Schema(Shared.self))
            defer { store.close() }
            #expect(
                store.catalog.entities.first?.attributes.map(\.name) == [
                    "name", "one", "two", "three",
                ])
            #expect(try store.verify().isConsistent)
        }
    }

    /// The queue held the closure of a blocking write a moment longer than the caller, which
    /// stopped the process.
    @Test func `blocking writes of many threads return when they are done`() async throws {
        let store = try Store.inMemory(schema: Schema(Shared.self))
        defer { store.close() }
        let count = 2_000
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<count / 4 {
                do {
                    try store.write { transaction in
                        _ = try transaction.save(Shared(name: "\(thread) \(number)"))
                    }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(try store.read { try $0.lastSequence } == UInt64(count))
    }
}
