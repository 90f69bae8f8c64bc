import PeerInterface
import Synchronization

/// A long piece of work, how fast it went and what memory it took at most.
struct Work {
    let name: String
    let operationsPerSecond: Double
    let heapBytes: Double
    let residentBytes: Double
    let anonymousBytes: Double

    init(
        _ name: String, _ operations: Int,
        _ body: (_ progress: @escaping @Sendable () -> Void) async throws -> Void
    ) async throws {
        self.name = name
        let before = Memory()
        let heapMax = Peak()
        let residentMax = Peak()
        let anonymousMax = Peak()
        let start = peer_nanoseconds()
        try await body {
            let now = Memory()
            heapMax.offer(now.heapBytes)
            residentMax.offer(now.residentBytes)
            anonymousMax.offer(now.anonymousBytes)
        }
        let seconds = Double(peer_nanoseconds() - start) / 1e9
        operationsPerSecond = Double(operations) / seconds
        heapBytes = Double(max(0, heapMax.value - before.heapBytes))
        residentBytes = Double(max(0, residentMax.value - before.residentBytes))
        anonymousBytes = Double(max(0, anonymousMax.value - before.anonymousBytes))
    }
}

/// The largest of the numbers that any thread offered.
private final class Peak: Sendable {
    private let largest = Atomic(0)

    var value: Int { largest.load(ordering: .relaxed) }

    func offer(_ number: Int) {
        _ = largest.max(number, ordering: .relaxed)
    }
}
