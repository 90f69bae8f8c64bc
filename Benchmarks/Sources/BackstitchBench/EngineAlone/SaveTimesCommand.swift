import Backstitch
import BenchmarkKit
import Foundation
import PeerInterface

/// What the engine's benchmark runs as a second process: saves contacts one by one, each with the
/// time of its call as its balance.
enum SaveTimesCommand {
    static let name = "save-times"
    /// Between two saves, so that each is delivered by itself.
    private static let pause = Duration.milliseconds(3)

    static func run(_ arguments: inout Arguments) async throws {
        let directory = try arguments.value(of: name)
        let count = try arguments.number(of: name, from: 1)
        let store = try Store(
            at: URL(filePath: directory), schema: StoreSchema(Department.self, Contact.self))
        defer { store.close() }
        var contact = ContactSet(Dataset(records: 1, saves: 0, seed: 1)).contacts[0]
        for _ in 0..<count {
            contact.id = Contact.ID()
            contact.balance = Double(peer_nanoseconds())
            let saved = contact
            try await store.write { tx in _ = try tx.save(saved) }
            try await Task.sleep(for: pause)
        }
    }
}
