import BackstitchCore
import BackstitchSync

/// Keeps the events of an engine until it is stopped.
struct EventRecorder: Sendable {
    private let task: Task<[SyncEngineEvent], Never>

    init(_ engine: SyncEngine) {
        let events = engine.events
        task = Task {
            var all: [SyncEngineEvent] = []
            for await event in events { all.append(event) }
            return all
        }
    }

    /// All events, once the engine was stopped.
    func all() async -> [SyncEngineEvent] { await task.value }

    /// The kinds of all events but progress, once the engine was stopped.
    func kinds() async -> [String] {
        await all().compactMap { event in
            switch event {
            case .started(let trigger): "started \(trigger.rawValue)"
            case .progress, .moving, .transferring: nil
            case .finished: "finished"
            case .failed(let error): "failed \(error.code)"
            case .conflict: "conflict"
            case .parked: "parked"
            case .rejected: "rejected"
            case .undelivered: "undelivered"
            case .zoneLost: "zoneLost"
            }
        }
    }
}
