import Backstitch
import Foundation
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

@Suite(.budgeted) struct DamagedLogTests {
    /// A rebuild that failed in the middle of the log was committed: to the queue it seemed to have
    /// changed nothing, because it appends no operation. Half of the tables was gone then.
    @Test func `a rebuild from a damaged log leaves the tables as they were`() async throws {
        let fixture = try DynamicFixture()
        try fixture.write { transaction in
            for number in 0..<10 {
                _ = try transaction.save(DynamicAuthor(id: .named("a\(number)"), name: "x"))
            }
        }
        let store = try fixture.dynamic(.readWrite)
        defer { store.close() }
        try store.environment.writer.submitAndWait {
            try store.environment.write { transaction in
                let access = transaction.access
                try TableKey.withSequence(5) { key in
                    let stored = try access.get(key, in: store.databases.log)
                    var bytes = Array(try #require(stored))
                    bytes[bytes.count / 2] ^= 1
                    try bytes.withUnsafeBytes { try access.put(key, $0, in: store.databases.log) }
                }
            }
        }
        let error = await #expect(throws: StoreError.self) { try await store.rebuild() }
        #expect(error?.code == .damaged)
        #expect(try store.read { try $0.count(of: "Author") } == 10)
    }
}
