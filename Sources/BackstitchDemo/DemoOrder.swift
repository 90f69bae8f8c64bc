import Backstitch
import Foundation

/// What the story asks of a device, as a value, because the device may be another process.
enum DemoOrder: Codable, Equatable {
    /// Saves all of the data.
    case save
    /// Changes those of the records that the device has.
    case edit(DemoEdit, records: [String])
    case delete(records: [String])
    /// Deletes records, and makes them again with other values.
    case replace(records: [String])
    /// Runs a round under a policy, which is named.
    case synchronise(policy: String)
    /// Pushes, and dies once the service has taken a number of requests and one more, whose reply is
    /// lost with it.
    case die(requests: Int)
    /// Counts what waits to be pushed.
    case count
}

/// How the story changes a record.
enum DemoEdit: String, Codable {
    case onA, onB, late

    func change(_ record: inout some DemoRecord, at time: Date) {
        switch self {
        case .onA:
            record.text = "On A: " + record.text
            record.rank = "important"
        case .onB:
            record.text = "On B: " + record.text
            record.reviewedAt = time
        case .late:
            record.text = "Late: " + record.text
        }
    }
}

/// What came of an order.
struct DemoAnswer: Codable, Equatable {
    /// What waits to be pushed.
    struct Waiting: Codable, Equatable {
        var records = 0
        var operations = 0
        var parkedOperations = 0

        init() {}

        init(_ counts: StoreInfo.Outbox) {
            records = counts.pendingRecords
            operations = counts.pendingOperations
            parkedOperations = counts.parkedOperations
        }
    }

    var pushedRecords = 0
    var pulledRecords = 0
    var conflicts = 0
    /// The operations that the device logged.
    var operations = 0
    var seconds = 0.0
    /// What waits after it.
    var waiting = Waiting()
    /// The service's limits.
    var operationsPerRequest = 0
    var recordsPerPage = 0
}

/// A line that a device in a process of its own writes.
enum DemoMessage: Codable, Equatable {
    case progress(done: Int, total: Int)
    case answer(DemoAnswer)
    /// It could not be done.
    case failure(String)
}
