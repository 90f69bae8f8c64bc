import BackstitchCore
import BackstitchSync
import Threading

/// Tells how the rounds of an engine ended, one after another.
final class RoundEnds: Sendable {
    private let ends: Locked<[String]>

    init(_ engine: SyncEngine) {
        let events = engine.events
        let ends = Locked<[String]>([])
        self.ends = ends
        _ = Task {
            for await event in events {
                switch event {
                case .finished(let report):
                    ends.withLock { $0.append("finished \(report.trigger.rawValue)") }
                case .failed(let error):
                    ends.withLock { $0.append("failed \(error.code)") }
                default: continue
                }
            }
        }
    }

    /// The end of the next round, once it has ended.
    func next() async -> String {
        while !Task.isCancelled {
            let end = ends.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let end { return end }
            await Task.yield()
        }
        return "cancelled"
    }
}
