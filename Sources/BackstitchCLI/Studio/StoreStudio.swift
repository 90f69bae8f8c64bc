import Backstitch
import BackstitchStudio
import BackstitchSync
import Foundation
import Glibc
import Terminal
import Threading

/// Answers the calls of Studio's page from a store, with the documents of the commands.
final class StoreStudio: StudioSource {
    /// The most records, operations or conflicts of an answer.
    static let rowsMax = 200
    /// Counting ends here: a page says "more than".
    static let countMax = 10_000

    let store: Store
    let path: String
    private let allowsWrites: Bool
    private let version: String
    private let jobs: StudioJobs
    private let watch = StudioWatch()
    private let searches: SavedSearches
    /// The data file that is open, which the path may not lead to any more.
    private let file: FileIdentity?

    init(store: Store, path: String, allowsWrites: Bool, version: String) throws {
        (self.store, self.path, self.allowsWrites) = (store, path, allowsWrites)
        file = FileIdentity(path + "/data.mdb")
        self.version = version
        jobs = StudioJobs(path: path)
        searches = SavedSearches(of: try store.info().storeID.uuidString)
    }

    /// The name that destructive actions have to repeat.
    var name: String { URL(filePath: path).lastPathComponent }

    func session() throws -> String {
        try JSON.line(
            StudioDocument.Session(
                kind: "store", name: name, path: path, writable: allowsWrites, version: version))
    }

    func message(of error: any Error) -> String {
        (error as? UsageError)?.message ?? Failure.describe(error)
    }

    func stop() {
        watch.stop()
        jobs.stop()
    }

    func answer(_ call: StudioCall) async throws -> StudioAnswer {
        try checkPlace()
        if call.isAction { return .json(try await act(call)) }
        if call.name == "file" { return .file(path: try file(call)) }
        return .json(try await read(call))
    }

    private func read(_ call: StudioCall) async throws -> String {
        switch call.name {
        case "entities": return try JSON.line(try entities())
        case "inspect":
            return try JSON.line(
                InspectDocument(try store.info(), EngineDocument(of: store), path: path))
        case "records": return try JSON.line(try records(call))
        case "count": return try JSON.line(try count(call))
        case "explain": return try JSON.line(try explain(call))
        case "find": return try JSON.line(try find(call))
        case "record": return try JSON.line(try state(call))
        case "history": return try JSON.line(try history(call))
        case "log": return try JSON.line(try log(call))
        case "outbox": return try JSON.line(try outbox())
        case "conflicts": return try JSON.line(try conflicts(call))
        case "changes": return try JSON.line(try await changes(call))
        case "assets":
            let usage = store.assets.usage()
            return try JSON.line(StudioDocument.Files(files: usage.files, bytes: usage.bytes))
        case "searches": return try JSON.line(try searches.all())
        case "jobs": return try jobs.status()
        default: throw StudioError(404, "There is no call '\(call.name.printable)'.")
        }
    }

    private func act(_ call: StudioCall) async throws -> String {
        switch call.name {
        case "jobs":
            let kind = try call.required("kind")
            if StudioJobs.writing.contains(kind) { try requireWrites(call) }
            return try jobs.start(kind, target: call.text("target"))
        case "jobs/stop":
            jobs.stop()
            return try jobs.status()
        // They are the user's, and not the store's.
        case "searches/save": return try JSON.line(try searches.save(SavedSearch(call)))
        case "searches/remove":
            return try JSON.line(
                try searches.remove(
                    name: try call.required("name"), entity: try call.required("entity")))
        default:
            try requireWrites(call)
            guard let isChanged = try await change(call) else {
                throw StudioError(404, "There is no action '\(call.name.printable)'.")
            }
            return try JSON.line(StudioDocument.Changed(changed: isChanged))
        }
    }

    /// Refuses what may not be done, or was not confirmed by the store's name.
    private func requireWrites(_ call: StudioCall) throws(StudioError) {
        guard allowsWrites else {
            throw StudioError(
                403, "Studio only reads. Start it with --allow-writes to change things.")
        }
        guard call.text("confirm") == name else {
            throw StudioError(409, "Confirm with the name of the store: \(name.printable)")
        }
    }

    /// Refuses to show what is no longer the store of the path.
    private func checkPlace() throws(StudioError) {
        guard file == FileIdentity(path + "/data.mdb") else {
            throw StudioError(
                410, "The files of the store were removed or replaced. Start studio again.")
        }
    }

    /// The path of a content that records hold.
    private func file(_ call: StudioCall) throws -> String {
        let asset = Asset(
            content: call.text("content"), serviceChecksum: call.text("checksum"), byteCount: 0)
        let folder = store.assets.folder
        guard let content = try store.assets.content(of: asset), folder.holds(content) else {
            throw StudioError(404, "The content of the file is not on this device.")
        }
        return folder.path(content)
    }

    /// Waits until the log is longer than the page knows, or the engine has told something, a while at
    /// most.
    private func changes(_ call: StudioCall) async throws -> StudioDocument.Moment {
        let known = try StudioDocument.Moment(call)
        return try await watch.wait(for: known) {
            try checkPlace()
            return StudioDocument.Moment(
                lastSequence: try store.read { try $0.lastSequence },
                engine: EngineSign(of: store)?.version ?? 0)
        }
    }
}

/// Looks again and again for what a page does not know yet.
struct StudioWatch: Sendable {
    /// How long a call waits, in looks of ``lookInterval``.
    private static let looksMax = 500
    private static let lookInterval = Duration.milliseconds(40)

    private let isStopping = Locked(false)

    /// Ends all that wait.
    func stop() { isStopping.withLock { $0 = true } }

    /// Returns what is there once it is not what is known, or at the end of its patience.
    func wait(
        for known: StudioDocument.Moment, _ look: () throws -> StudioDocument.Moment
    ) async throws -> StudioDocument.Moment {
        var moment = try look()
        var looks = 0
        while moment == known, looks < Self.looksMax, !isStopping.withLock({ $0 }) {
            try await SystemClock().sleep(for: Self.lookInterval)
            moment = try look()
            looks += 1
        }
        return moment
    }
}

/// What tells a file from others, whatever its name; nil if no file is at the path.
private struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
