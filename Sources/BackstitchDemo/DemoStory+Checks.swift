import Backstitch
import BackstitchCore
import Foundation
import Terminal

extension DemoStory {
    /// A store, and the device that left it.
    private typealias NamedStore = (name: String, store: Store)

    /// Proves that the story ended well.
    mutating func check() async throws {
        tell("")
        tell("6. Checks")
        let stores = try [first, second].map { device in
            (name: device.name, store: try Store(at: device.path, schema: data.schema))
        }
        defer { for (_, store) in stores { store.close() } }
        try await checkConvergence(stores)
        try checkAccounts(stores)
        try await checkStores(stores)
        for failure in failures { tell("   WRONG: " + failure.printable) }
    }

    // MARK: The same everywhere

    private mutating func checkConvergence(_ stores: [NamedStore]) async throws {
        let connection = DemoConnection(try await cloud.connection(device: "C"))
        let fresh = try LocalDemoDevice(
            "C", at: folder + "/fresh", data: data, service: connection)
        _ = try await sync(fresh, .serverWins, total: data.count)
        fresh.end()
        let freshStore = try Store(at: fresh.path, schema: data.schema)
        defer { freshStore.close() }
        var records: [String: ServiceRecord] = [:]
        for record in try await connection.records(in: ZoneID(DemoZone.name)) {
            records[record.recordName] = record
        }
        report.converged = true
        for device in stores + [(fresh.name, freshStore)] {
            let (count, difference) = try compare(device, with: records)
            if let difference {
                report.converged = false
                failures.append("Device \(device.name) and the service differ: \(difference)")
            } else if count != records.count {
                report.converged = false
                failures.append(
                    "Device \(device.name) has \(count) records, the service \(records.count).")
            }
        }
        let size = records.count.counted("record")
        tell(
            "   converged           \(Self.answer(report.converged)): A, B, the service and a "
                + "fresh device hold the same \(size)")
    }

    /// Compares the records of a device with the service's, value by value.
    private func compare(
        _ device: NamedStore, with records: [String: ServiceRecord]
    ) throws -> (count: Int, difference: String?) {
        let bar = console.progress("Comparing \(device.name)")
        defer { bar.finish() }
        return try device.store.read { transaction in
            var count = 0
            var difference: String?
            for entity in data.schema.entities {
                var attributes: [String: AttributeSchema] = [:]
                for attribute in entity.attributes { attributes[attribute.name] = attribute }
                try transaction.forEachRecord(of: entity.name) { record in
                    count += 1
                    if count % 1_000 == 0 { bar.update(done: count, total: records.count) }
                    let name = record.id.name
                    let fields = records[name].flatMap {
                        $0.recordType == entity.name ? $0.fields : nil
                    }
                    let isSame =
                        record.state == .synced && fields?.count == record.values.count
                        && record.values.allSatisfy { name, value in
                            fields?[name]
                                == ServiceMapping.serviceValue(value, of: attributes[name])
                        }
                    if !isSame { difference = "\(entity.name) \(name)" }
                    return isSame
                }
                if difference != nil { break }
            }
            return (count, difference)
        }
    }

    // MARK: Nothing lost

    private mutating func checkAccounts(_ stores: [NamedStore]) throws {
        for device in stores {
            let account = try DemoAccount(device.store)
            report.lostOperations += account.lost + account.unsynced
            if !account.addsUp || account.lost > 0 || account.unsynced > 0 {
                failures.append("The operations of device \(device.name): \(account).")
            }
            tell(
                "   operations of \(device.name)     "
                    + "\(account.made.grouped) made here: \(account.acknowledged.grouped) "
                    + "acknowledged, \(account.superseded.grouped) superseded with a journal "
                    + "entry, \(account.parked.grouped) parked, \(account.unsynced.grouped) "
                    + "unsynced")
        }
        tell(
            "   nothing lost        \(Self.answer(report.lostOperations == 0)): "
                + "\(report.lostOperations.grouped) operations unaccounted for")
    }

    // MARK: Whole stores

    private mutating func checkStores(_ stores: [NamedStore]) async throws {
        var isConsistent = true
        var entries = 0
        report.rebuildIdentical = true
        for device in stores {
            try checkInterruption()
            let bar = console.progress("Verifying \(device.name)")
            let verified = try device.store.verify { bar.update(done: $0, total: $1) }
            bar.finish()
            isConsistent = isConsistent && verified.isConsistent
            failures += verified.problems.prefix(3).map { "Device \(device.name): \($0)" }
            let rebuilding = console.progress("Rebuilding \(device.name)")
            let rebuilt = try await device.store.rebuild {
                rebuilding.update(done: $0, total: $1)
            }
            rebuilding.finish()
            entries += rebuilt.entries
            if !rebuilt.isIdentical {
                report.rebuildIdentical = false
                failures.append("The tables of device \(device.name) were different.")
            }
        }
        tell(
            "   rebuild identical   \(Self.answer(report.rebuildIdentical)): the tables of A and "
                + "B, \(entries.grouped) entries, made anew from their logs")
        tell("   verify consistent   \(Self.answer(isConsistent))")
    }

    static func answer(_ isTrue: Bool) -> String { isTrue ? "yes" : "NO" }
}

extension DemoAccount {
    /// Whether each operation is in exactly one place.
    var addsUp: Bool { made == acknowledged + superseded + parked + unsynced + lost }
}
