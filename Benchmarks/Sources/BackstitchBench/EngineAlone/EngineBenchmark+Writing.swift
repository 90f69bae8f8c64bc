import Backstitch
import PeerInterface

extension EngineBenchmark {
    /// Inserts by the size of transactions.
    mutating func append() throws {
        for (size, count) in [(1, 200), (10, 100), (100, 50), (1_000, 20), (10_000, 4)] {
            let nanoseconds = try withStore { store in
                let parts = Self.parts(0..<(size * count), of: size)
                let start = peer_nanoseconds()
                for part in parts { try save(part, in: store) }
                return peer_nanoseconds() - start
            }
            note("append-\(size)", Double(nanoseconds) / Double(size * count))
        }
    }

    /// Single saves by the number of writers that make them at once.
    mutating func group() async throws {
        for writers in [1, 2, 4, 8, 16, 32, 64] {
            let each = max(20, 640 / writers)
            let nanoseconds = try await withStore { store in
                let start = peer_nanoseconds()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<writers {
                        let contacts = (0..<each).map { contact(writer * each + $0) }
                        group.addTask {
                            for contact in contacts {
                                try await store.write { tx in _ = try tx.save(contact) }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                return peer_nanoseconds() - start
            }
            note("group-\(writers)", Double(nanoseconds) / Double(writers * each))
        }
    }
}
