import Backstitch
import BenchmarkKit
import Foundation
import Glibc
import PeerInterface

/// What scripts run as processes that they kill, and as those that come after.
enum CrashCommands {
    /// Commits contacts, as many a transaction as is said, prints the number of transactions after
    /// each that was acknowledged, and waits to be killed.
    static let saveAndWait = "save-and-wait"
    /// Opens a store, and prints the nanoseconds that this took, as JSON, with the number of contacts
    /// and a sum of their ages.
    static let timeToOpen = "time-to-open"

    private static var schema: StoreSchema { StoreSchema(Department.self, Contact.self) }

    static func saveAndWait(_ arguments: inout Arguments) throws {
        let directory = try arguments.value(of: saveAndWait)
        let transactions = try arguments.number(of: saveAndWait, from: 1)
        let each = try arguments.number(of: saveAndWait, from: 1)
        let durability = try arguments.names(of: saveAndWait) as [Durability]
        let store = try Store(
            at: URL(filePath: directory), schema: schema,
            configuration: StoreConfiguration(
                durability: durability.contains(.relaxed) ? .relaxed : .full))
        let samples = ContactSet(Dataset(records: 1_000, saves: 0, seed: 1)).contacts
        for transaction in 0..<transactions {
            try store.write { tx in
                for number in 0..<each {
                    var contact = samples[(transaction * each + number) % samples.count]
                    contact.id = Contact.ID()
                    // Which transaction it is of, and how many there are of it.
                    contact.age = Int64(transaction)
                    contact.balance = Double(each)
                    try tx.save(contact)
                }
            }
            // One line in one call, so that no part of one is read.
            let line = "\(transaction + 1)\n"
            line.utf8.withContiguousStorageIfAvailable {
                _ = Glibc.write(1, $0.baseAddress, $0.count)
            }
        }
        while true { sleep(60) }
    }

    static func timeToOpen(_ arguments: inout Arguments) throws {
        let directory = try arguments.value(of: timeToOpen)
        let start = peer_nanoseconds()
        let store = try Store(at: URL(filePath: directory), schema: schema)
        let nanoseconds = peer_nanoseconds() - start
        defer { store.close() }
        let contacts = try store.read { try $0.fetch(Contact.self) }
        var sizes: [Int64: Int] = [:]
        for contact in contacts { sizes[contact.age, default: 0] += 1 }
        let partial = contacts.count { Double(sizes[$0.age] ?? 0) != $0.balance }
        print(
            "{\"nanoseconds\": \(nanoseconds), \"contacts\": \(contacts.count), "
                + "\"transactions\": \(sizes.count), \"last\": \(sizes.keys.max() ?? -1), "
                + "\"partial\": \(partial)}")
    }

    private enum Durability: String, CaseIterable { case full, relaxed }
}
