import Backstitch
import BackstitchCore
import Foundation
import Terminal

/// A document of the story of files.
@Entity struct DemoDocument {
    var id = ID()
    @Attribute(.indexed) var path: String
    var file: Asset
}

/// A story of real files that go from a disk to another one: one device adds them, its first upload is cut
/// and gone on with, and another device opens them all.
package struct AssetDemo {
    private let tell: (String) -> Void
    private let zone = "Documents"
    private let schema = StoreSchema(DemoDocument.self)
    /// How many documents are deleted at the end.
    private static let deletedCount = 10
    /// How often a device synchronises again after a failure.
    private static let attemptsMax = 10

    package init(tell: @escaping (String) -> Void) { self.tell = tell }

    /// Tells the story.
    ///
    /// - Parameters:
    ///   - folder: Where the stores are made.
    ///   - usesHub: Whether the service is a hub in a process of its own.
    /// - Returns: What was found, and what was wrong.
    package func run(
        in folder: String, usesHub: Bool
    ) async throws -> (report: AssetDemoReport, failures: [String]) {
        let files = try AssetDemoFiles(below: "/usr/share")
        let hub = usesHub ? try await HubProcess(folder: folder + "/hub") : nil
        defer { hub?.stop() }
        let service: any AssetDemoService =
            if let hub { HubAssetService(hub) } else { SimulatedAssetService() }
        tell("The data: \(files.paths.count) files of this machine, below /usr/share.")
        tell("The service: \(service.title).")
        let first = try Store(at: URL(filePath: folder + "/a"), schema: schema)
        defer { first.close() }
        let second = try Store(at: URL(filePath: folder + "/b"), schema: schema)
        defer { second.close() }
        var report = AssetDemoReport()
        let hashes = try await add(files, to: first, &report)
        try await upload(first, service)
        report.hashMismatches = try await download(hashes, second, service)
        (report.bytesSent, report.resumed) = service.sent
        tell(
            "\(report.bytesSent) bytes were sent for \(report.bytes); "
                + "\(report.resumed.counted("upload")) went on after a cut.")
        try await tidy(first, second, service)
        report.orphans = try await orphans(first) + orphans(second) + service.orphans
        report.converged = try await isSame(first, second)
        return (report, failures(report))
    }

    // MARK: Steps

    /// Saves every file as a document; a content that is there twice is left out.
    ///
    /// - Returns: The hashes of the files, by their paths.
    private func add(
        _ files: AssetDemoFiles, to store: Store, _ report: inout AssetDemoReport
    ) async throws -> [String: String] {
        var hashes: [String: String] = [:]
        var documents: [DemoDocument] = []
        var contents: Set<String> = []
        for path in files.paths {
            let file = try await store.assets.add(contentsOf: URL(filePath: path))
            guard let content = file.content, contents.insert(content).inserted else { continue }
            hashes[path] = try AssetDemoFiles.hash(ofFileAt: path)
            report.bytes += file.byteCount
            documents.append(DemoDocument(path: path, file: file))
        }
        report.assets = documents.count
        let all = documents
        try await store.write { transaction in
            for document in all { try transaction.save(document) }
        }
        tell(
            "Device A has \(report.assets) documents with \(report.bytes) bytes, each in a file of its own."
        )
        return hashes
    }

    private func engine(_ store: Store, _ service: any RecordService) -> SyncEngine {
        SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: zone, syncOnSave: false))
    }

    /// Uploads everything; the first upload is cut in the middle.
    private func upload(_ store: Store, _ service: any AssetDemoService) async throws {
        let connection = try service.connection(device: "a")
        if !service.cutFirstUpload(of: connection) {
            let engine = engine(store, connection)
            let events = engine.events
            let cut = Task {
                for await event in events {
                    guard case .transferring(let file, let bytes, isUpload: true) = event,
                        bytes > 0, bytes < file.byteCount
                    else { continue }
                    return await engine.stop()
                }
            }
            do {
                try await engine.sync()
                cut.cancel()
                await engine.stop()
            } catch let error as SyncError where error.code == .stopped {
                tell("Device A stopped in the middle of an upload, and begins anew.")
            }
        }
        let engine = engine(store, connection)
        var attempts = 0
        while true {
            attempts += 1
            do {
                let report = try await engine.sync()
                if report.recordsWaitingForFiles == 0 { break }
            } catch let error as SyncError where error.code == .unreachable {
                tell("An upload was cut: \(error.message)")
                guard attempts < Self.attemptsMax else { throw error }
            }
        }
        await engine.stop()
    }

    /// Opens every document on another device, which downloads them.
    ///
    /// - Returns: How many came out as other bytes than went in.
    private func download(
        _ hashes: [String: String], _ store: Store, _ service: any AssetDemoService
    ) async throws -> Int {
        let engine = engine(store, try service.connection(device: "b"))
        try await engine.sync()
        let documents = try store.read { try $0.fetch(DemoDocument.self) }
        var mismatches = hashes.count - documents.count
        for document in documents {
            let reader = try await store.assets.open(document.file)
            var hash = SHA256()
            for try await chunk in reader.chunks(of: 64 << 10) {
                hash.update(chunk)
            }
            if ContentHash.text(hash.finish()) != hashes[document.path] { mismatches += 1 }
        }
        tell(
            "Device B opened \(documents.count) documents; \(mismatches) differ from the originals."
        )
        await engine.stop()
        return mismatches
    }

    /// Deletes some documents on one device, and collects what nothing names any more on both.
    private func tidy(
        _ first: Store, _ second: Store, _ service: any AssetDemoService
    ) async throws {
        let deleted = Self.deletedCount
        try await second.write { transaction in
            for document in try transaction.fetch(DemoDocument.self).prefix(deleted) {
                try transaction.delete(document.id)
            }
        }
        for (store, name) in [(second, "b"), (first, "a"), (second, "b")] {
            let engine = engine(store, try service.connection(device: name))
            try await engine.sync()
            await engine.stop()
            try await store.compact(.keepUnsyncedOnly)
        }
        var removed = 0
        for store in [first, second] {
            removed += try await store.assets.collect(addedBefore: .distantFuture).files
        }
        tell(
            "\(deleted) documents were deleted; \(removed) files of them were removed on the devices."
        )
    }

    // MARK: Checks

    private func orphans(_ store: Store) async throws -> Int {
        try await store.assets.verify().orphans
    }

    /// Whether two stores hold the same records, and every file is here and whole.
    private func isSame(_ first: Store, _ second: Store) async throws -> Bool {
        func held(_ store: Store) throws -> [String: String] {
            let documents = try store.read { try $0.fetch(DemoDocument.self) }
            return Dictionary(
                documents.map { ($0.path, $0.file.content ?? "") }, uniquingKeysWith: { $1 })
        }
        let (one, other) = (try held(first), try held(second))
        guard one == other, !one.isEmpty else { return false }
        for store in [first, second] {
            guard try await store.assets.verify().isConsistent, try store.verify().isConsistent
            else { return false }
            for document in try store.read({ try $0.fetch(DemoDocument.self) }) {
                guard try store.assets.isHere(document.file) else { return false }
            }
        }
        return true
    }

    private func failures(_ report: AssetDemoReport) -> [String] {
        var failures: [String] = []
        if report.hashMismatches > 0 { failures.append("Files came out as other bytes.") }
        if report.orphans > 0 { failures.append("Files are left that nothing holds.") }
        if !report.converged { failures.append("The devices do not hold the same.") }
        if report.resumed < 1 { failures.append("No upload went on after a cut.") }
        if report.bytesSent * 5 > report.bytes * 6 {
            failures.append("More than 1.2 times the content was sent.")
        }
        return failures
    }
}
