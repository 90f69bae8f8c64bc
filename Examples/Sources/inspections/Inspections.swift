import Backstitch
import BackstitchTesting
import Foundation

/// Devices with three versions of an app share a zone. None waits for the others to be upgraded.
@main struct Inspections {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("inspections-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let cloud = SimulatedCloud()

        func device(_ name: String, _ schema: StoreSchema) throws -> SyncEngine {
            let place = folder.appendingPathComponent(name)
            return SyncEngine(
                store: try Store(at: place, schema: schema),
                service: cloud.connection(device: name),
                configuration: SyncConfiguration(
                    zoneName: "Inspections", conflictPolicy: .merge(otherwise: .lastWriterWins)))
        }

        // In the field, without a network, two devices of the first version meet the same site.
        let tablet = try device("tablet", Version1.schema)
        let phone = try device("phone", Version1.schema)
        let bridge = Version1.Site(
            code: "B-17", place: GeoLocation(latitude: 52.5, longitude: 13.4))
        let found = Version1.Inspection(date: day(1), note: "Rust at the bearing", site: bridge.id)
        try await tablet.store.write { tx in
            try tx.save(bridge)
            try tx.save(found)
        }
        try await phone.store.save(Version1.Site(code: "B-17"))
        try await sync(tablet, phone, untilQuiet: 10)
        let sites = try phone.store.read { try $0.fetch(Version1.Site.self) }
        print("sites with the code B-17: \(sites.count)")

        // The office has the second version. Old devices keep what they don't know.
        let office = try device("office", Version2.schema)
        try await office.sync()
        let inspections = Query<Version2.Inspection>()
        try await office.store.write { tx in
            for var inspection in try tx.fetch(inspections) {
                inspection.severity = .severe
                try tx.save(inspection)
            }
        }
        var edited = found
        edited.note = "Rust at both bearings"
        try await tablet.store.save(edited)
        try await sync(tablet, office, untilQuiet: 10)
        let merged = try office.store.read { try $0.fetch(inspections) }[0]
        print("office: \(merged.remark), \(merged.severity)")

        // The tablet is upgraded, twice at once. What was dropped on arrival by no version is there.
        tablet.store.close()
        let upgraded = try device("tablet", Version3.schema)
        let severe = Version2.Severity.severe
        let urgent = Query<Version3.Inspection>()
            .where(#Predicate { $0.severity == severe }).sorted(by: \.date)
        let repaired = try upgraded.store.read { try $0.fetch(urgent) }
        print("tablet after the upgrade: \(repaired.map(\.remark)), \(repaired.map(\.severity))")
        try await upgraded.store.save(
            Version3.Repair(done: day(9), cost: 120, inspection: repaired[0].id))

        // The phone of the first version deletes the site; the repair, which it does not know, goes too.
        try await sync(upgraded, phone, untilQuiet: 10)
        try await phone.store.delete(sites[0].id)
        try await sync(upgraded, phone, untilQuiet: 10)
        try await sync(upgraded, office, untilQuiet: 10)
        let left = try upgraded.store.read {
            try ($0.count(Version3.Inspection.self), $0.count(Version3.Repair.self))
        }
        print("after the deletion: \(left.0) inspections, \(left.1) repairs")
    }

    /// A day of a month, at noon.
    static func day(_ number: Int) -> Date {
        Date(timeIntervalSince1970: 1_750_000_000 + Double(number) * 86_400)
    }
}
