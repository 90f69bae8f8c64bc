import Backstitch
import BenchmarkKit
import Foundation
import Glibc

extension EngineBenchmark {
    private static let rounds = 5
    private static let waitingSaves = 500
    private static let gets = 50_000
    private static let scans = 5

    /// Reads while no records wait in the journal, and while those of some saves do: the processor's
    /// time of each get and of each scan. Without a journal both are the same.
    mutating func waiting() async throws {
        let count = options.operations
        let filled = try open(.full)
        for part in Self.parts(0..<count) { try save(part, in: filled) }
        var times: [String: [Double]] = [:]
        var store = filled
        defer { remove(store) }
        for round in 0..<Self.rounds {
            // What waits is applied before the store is closed.
            store.close()
            store = try open(.full)
            for name in ["complete", "waiting"] {
                if name == "waiting" {
                    let first = count + round * Self.waitingSaves
                    for number in first..<first + Self.waitingSaves {
                        try save(number..<number + 1, in: store)
                    }
                }
                times["get-\(name)", default: []].append(try timeOfGets(in: store))
                times["scan-\(name)", default: []].append(try timeOfScans(in: store))
            }
        }
        for (name, values) in times.sorted(by: { $0.key < $1.key }) {
            note(name, values.percentile(0.5))
        }
    }

    private func timeOfGets(in store: Store) throws -> Double {
        let ids = (0..<Self.gets).map { contact($0 * 7_919 % options.operations).id }
        let start = Self.processorNanoseconds
        try store.read { tx in
            for id in ids {
                guard try tx.find(Contact.self, id) != nil else {
                    throw EngineFailure(description: "a contact is not there")
                }
            }
        }
        return (Self.processorNanoseconds - start) / Double(Self.gets)
    }

    private func timeOfScans(in store: Store) throws -> Double {
        let highest = samples.map(\.balance).max() ?? 0
        let query = Query<Contact>().where(#Predicate { $0.balance >= highest })
        let start = Self.processorNanoseconds
        try store.read { tx in
            for _ in 0..<Self.scans {
                guard try !tx.fetch(query).isEmpty else {
                    throw EngineFailure(description: "no contact has the highest balance")
                }
            }
        }
        return (Self.processorNanoseconds - start) / Double(Self.scans)
    }

    /// What the calling thread has used.
    private static var processorNanoseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
