import Backstitch
import BackstitchCore
import ChildProcess
import CloudKitRecordService
import Foundation
import Glibc
import TestBudget
import Testing
import Waiting

@testable import BackstitchCLI

@Entity private struct FileItem {
    var id = ID()
    var writer: Int
    var number: Int
    var file: Asset
}

/// Devices and a hub are killed again and again while files go up and come down, are evicted and collected.
///
/// `TRANSFER_KILLS` says how often; 5 unless given. `TRANSFER_BUCKET` has the hub keep files in a bucket: its
/// address, and behind a space the path of its credentials. `Tests/bucket/moto.py --run` sets it.
@Suite(.budgeted, .serialized) struct TransferKillTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test
    func `every record has its file on the hub, whoever is killed in the middle of a transfer`()
        async throws
    {
        let environment = ProcessInfo.processInfo.environment
        let kills = Load.count("TRANSFER_KILLS", else: 5)
        let bucket = environment["TRANSFER_BUCKET"]?.split(separator: " ").map(String.init) ?? []
        let options = zip(["--bucket", "--bucket-key"], bucket).flatMap { [$0, $1] }
        let hub = try KillableHub(folder: fixture.root + "/hub", options: options)
        var devices = try (0..<2).map { try Device($0, at: path($0), hub) }
        var acknowledged: Set<[Int]> = []
        var state: UInt64 = 24
        for kill in 0..<kills {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let number = kill % 3
            // Each gets somewhere, so that kills come at any step and not only at the start.
            let records = Int(state >> 33) % 4
            if number == 2 {
                try await devices[kill / 3 % 2].wait(for: records, besides: acknowledged)
                try hub.killAndRestart(afterMicroseconds: UInt32(state >> 40) % 400_000)
            } else {
                try await devices[number].wait(for: records, besides: acknowledged)
                let microseconds = UInt32(state >> 40) % 100_000
                acknowledged.formUnion(try devices[number].kill(afterMicroseconds: microseconds))
                devices[number] = try Device(number, at: path(number), hub)
            }
        }
        for device in devices { acknowledged.formUnion(try device.kill()) }
        #expect(acknowledged.count > kills / 2)
        try await check(hub, acknowledged)
        #expect(try hub.stop() == .exit(code: 0))
        let found = try Runner.run(
            ["hub", "verify", "--data", fixture.root + "/hub"] + options)
        #expect(found.code == 0, "\(found.output)\(found.complaint)")
        print("\(kills) kills, \(acknowledged.count) records that the hub has")
    }

    private func path(_ number: Int) -> String { fixture.root + "/device-\(number)" }

    private func check(_ hub: KillableHub, _ acknowledged: Set<[Int]>) async throws {
        let schema = StoreSchema(FileItem.self)
        let stores = try (0..<3).map { try Store(at: URL(filePath: path($0)), schema: schema) }
        defer { for store in stores { store.close() } }
        let engines = try stores.map { store in
            SyncEngine(
                store: store, service: try hub.service(),
                configuration: SyncConfiguration(
                    zoneName: "files", conflictPolicy: .clientWins, syncOnSave: false))
        }
        // The third device is a fresh one.
        for _ in 0..<2 { for engine in engines { _ = try await engine.sync() } }
        var names: [Set<String>] = []
        for (store, engine) in zip(stores, engines) {
            let items = try store.read { try $0.fetch(FileItem.self) }
            names.append(Set(items.map { "\($0.writer)-\($0.number)" }))
            for item in items {
                let reader = try await store.assets.open(item.file)
                let data = try reader.read(at: 0, count: Int(reader.byteCount))
                #expect(data == content(of: item), "\(item.writer)-\(item.number)")
            }
            #expect(try engine.pending().pendingRecords == 0)
            #expect(try engine.parked().isEmpty)
            try await store.compact(.keepUnsyncedOnly)
            try await store.assets.collect(addedBefore: .distantFuture)
            let report = try await store.assets.verify()
            #expect(report.isConsistent && report.orphans == 0, "\(report)")
            for folder in ["incoming", "partial"] {
                let left = try? FileManager.default.contentsOfDirectory(
                    atPath: store.directory.path + "/blobs/" + folder)
                #expect(left ?? [] == [])
            }
            #expect(try store.verify().problems == [])
        }
        #expect(names[0] == names[1] && names[1] == names[2])
        // The second of four is deleted again.
        let kept = acknowledged.filter { $0[1] % 4 != 1 }.map { "\($0[0])-\($0[1])" }
        #expect(names[0].isSuperset(of: kept))
    }

    private func content(of item: FileItem) -> Data {
        let owner = item.number % 7 == 0 ? "all" : "\(item.writer)"
        let count = 256 * (1 + item.number * 11 % 30)
        return Data(String(repeating: "\(owner) \(item.number) \n", count: count).utf8)
    }
}

/// A device in a process of its own, and what it prints.
private final class Device {
    /// The most records that it saves before it is idle.
    private static let most = 40

    /// It has ended by itself.
    private struct Ended: Error {}

    private let process: ChildProcess
    private let output: FileHandle
    private var bytes = Data()

    init(_ number: Int, at path: String, _ hub: KillableHub) throws {
        let document = hub.document
        process = try ChildProcess([
            ChildProcess.path(ofBuilt: "BackstitchKillHelper"), path, "\(number)", "transfer",
            "\(Self.most)", document.url, document.container, document.apiToken,
            document.users[0].webAuthToken,
        ])
        output = process.output
        _ = fcntl(output.fileDescriptor, F_SETFL, O_NONBLOCK)
    }

    private func takeOutput() {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(output.fileDescriptor, &buffer, buffer.count)
            guard count > 0 else { return }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    /// Waits until it has acknowledged so many records that were not acknowledged before.
    ///
    /// - Throws: If it ended before.
    func wait(for count: Int, besides known: Set<[Int]>) async throws {
        try await eventually {
            let hasEnded = process.hasEnded
            takeOutput()
            if Set(acknowledged).subtracting(known).count >= count { return true }
            if hasEnded { throw Ended() }
            return false
        }
    }

    /// The writers and numbers of the records that it has acknowledged.
    private var acknowledged: [[Int]] {
        let whole = bytes.prefix((bytes.lastIndex(of: 10) ?? -1) + 1)
        return String(decoding: whole, as: UTF8.self).split(separator: "\n").map { line in
            line.split(separator: " ").compactMap { Int($0) }
        }
    }

    /// Kills it, unless it ended by itself, which is a failure.
    ///
    /// - Parameter microseconds: How long it may still run: a moment by chance.
    /// - Returns: The writers and numbers of the records that it acknowledged.
    func kill(afterMicroseconds microseconds: UInt32 = 0) throws -> [[Int]] {
        let ending = try process.kill(afterMicroseconds: microseconds)
        takeOutput()
        if ending != .signal(SIGKILL) {
            let complaint = process.complaint.availableData
            Issue.record("It ended by \(ending): \(String(decoding: complaint, as: UTF8.self))")
        }
        return acknowledged
    }
}
