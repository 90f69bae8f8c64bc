import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchTesting
import Foundation

/// Checks the files of devices: that none goes while anything needs it, and that what is opened is what a
/// record says.
struct FileChecks {
    let devices: SimulatedDevices
    let cloud: SimulatedCloud
    let story: SimulationStory

    // MARK: What is needed

    /// The hashes of the contents that the operations of a log name, before and after them and in reports of
    /// conflicts. It shares no code with the index of contents.
    ///
    /// - Parameter known: The checksums that the device knows the contents of; others name none. Those that it
    ///   knows now are added.
    static func named(in store: Store, _ known: inout Set<String>) throws -> Set<String> {
        var assets: Set<Asset> = []
        try store.read { transaction in
            func note(_ fields: Fields?) {
                for (_, value) in fields ?? Fields() { assets.formUnion(value.files) }
            }
            try transaction.reader.log.visit(from: 1) { operation in
                if operation.kind == .insert || operation.kind == .update
                    || operation.kind == .baseline, !operation.isTombstone
                {
                    note(try Fields(operation.after))
                }
                if operation.kind == .update || operation.kind == .delete {
                    note(try Fields(operation.before))
                }
                if let bytes = unsafe operation.conflictBytes {
                    let report = try unsafe ConflictReport(reading: bytes)
                    for side in [report.base, report.local, report.server, report.outcome] {
                        note(side)
                    }
                }
                return true
            }
            for asset in assets {
                guard let checksum = asset.serviceChecksum,
                    try transaction.reader.meta.content(of: asset) != nil
                else { continue }
                known.insert(checksum)
            }
        }
        return Set(
            assets.compactMap { asset in
                if let content = asset.content { return content }
                guard let checksum = asset.serviceChecksum, known.contains(checksum) else {
                    return nil
                }
                return SimulatedContent.hash(ofChecksum: checksum)
            })
    }

    /// The hashes of the contents that operations name which the service does not have. Those before an
    /// end of the record are never pushed.
    private func unsynced(_ account: LogAccount) -> Set<String> {
        var named: Set<String> = []
        for entry in account.dirty {
            let states = entry.states.split(omittingEmptySubsequences: false) { $0.fields == nil }
            for state in states.last ?? [] where state.sequence > entry.synced {
                for (_, value) in state.fields ?? Fields() {
                    for asset in value.files { named.insert(SimulatedContent.hash(of: asset)) }
                }
            }
        }
        return named
    }

    /// The hashes of the contents that the service had in records as a device has them.
    private func confirmed(_ account: LogAccount) -> Set<String> {
        var held: Set<String> = []
        for entry in account.entries.values where !entry.isDirty && !entry.changeTag.isEmpty {
            for value in cloud.version(tagged: entry.changeTag)?.fields.values.map(\.self) ?? [] {
                held.formUnion(value.checksums.map(SimulatedContent.hash(ofChecksum:)))
            }
        }
        return held
    }

    // MARK: What is here

    private static func here(_ store: Store) -> Set<String> {
        Set(store.assets.folder.contents.map(\.text))
    }

    /// Nothing goes by itself.
    func check(_ index: Int) throws {
        let home = devices[index].home
        let here = Self.here(devices[index].store)
        let gone = home.contents.subtracting(here)
        guard gone.isEmpty else {
            throw story.failure("A file of \(home.name) went by itself", gone.sorted())
        }
        home.contents = here
        guard home.ledger.violations.isEmpty else {
            throw story.failure("\(home.name) sends too much", home.ledger.violations)
        }
        for held in home.readers { try check(held.reader, held.content, home.name) }
    }

    /// Does something that may remove what nothing names, and may fail.
    func collecting<Value>(_ index: Int, _ body: () async throws -> Value) async throws -> Value {
        try check(index)
        let store = devices[index].store
        var known: Set<String> = []
        _ = try Self.named(in: store, &known)
        let result = await Self.result(of: body)
        let home = devices[index].home
        let gone = home.contents.subtracting(Self.here(store))
        let needed = gone.intersection(try Self.named(in: store, &known))
        guard needed.isEmpty else {
            throw story.failure(
                "A file of \(home.name) was collected that the log names", needed.sorted())
        }
        home.contents.subtract(gone)
        return try result.get()
    }

    /// Does something that may remove what the service has.
    func evicting<Value>(
        _ index: Int, _ account: LogAccount, _ body: () async throws -> Value
    ) async throws -> Value {
        try check(index)
        let result = await Self.result(of: body)
        let home = devices[index].home
        let gone = home.contents.subtracting(Self.here(devices[index].store))
        let needed = gone.intersection(unsynced(account))
            .union(gone.subtracting(confirmed(account)))
        guard needed.isEmpty else {
            throw story.failure(
                "A file of \(home.name) was evicted that the service is not known to have",
                needed.sorted())
        }
        home.contents.subtract(gone)
        return try result.get()
    }

    private static func result<Value>(
        of body: () async throws -> Value
    ) async -> Result<Value, any Error> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    // MARK: What is read

    func check(_ reader: AssetReader, _ content: String, _ name: String) throws {
        let bytes = Array(try reader.read(at: 0, count: Int(reader.byteCount)))
        guard SimulatedCloud.fileChecksum(of: bytes, isOpaque: false) == content else {
            throw story.failure("\(name) reads other bytes than the record says", [content])
        }
    }

    /// The files of the records of a store as they are now, sorted, each content once, or as often as
    /// another key tells them apart.
    static func held(
        in store: Store, each key: (Asset) -> String = SimulatedContent.hash(of:)
    ) throws -> [Asset] {
        try store.read { transaction in
            var found: [String: Asset] = [:]
            for photo in try transaction.fetch(SimulatedPhoto.self) {
                for asset in [photo.image].compactMap(\.self) + photo.pages {
                    found[key(asset)] = asset
                }
            }
            return found.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    // MARK: The end

    /// Every file of every record can be opened, by the devices and by a fresh one; and nothing is left that
    /// nothing names.
    func checkEnd(fresh: Store, _ accounts: [Int: LogAccount]) async throws {
        for index in devices.owners {
            let (store, name) = (devices[index].store, devices[index].name)
            try check(index)
            devices[index].home.readers = []
            // A device may have a content and not know that it is the one with a service's checksum.
            var linked: Set<String> = []
            _ = try Self.named(in: store, &linked)
            let here = Self.here(store)
            let held = Set(cloud.fileChecksums.held.map(SimulatedContent.hash(ofChecksum:)))
            let lost = accounts[index].map { lostForAll($0, here, held, linked) } ?? []
            let assets = try Self.held(in: store) { $0.content ?? $0.serviceChecksum ?? "" }
                .filter { asset in ContentKey(asset).map { !lost.contains($0.text) } ?? false }
            try await open(assets, in: store, name)
            // Files of downloads came.
            try check(index)
            try await collecting(index) {
                try await store.compact(through: .max)
                try await store.assets.collect(addedBefore: .distantFuture)
            }
            var known: Set<String> = []
            let left = Self.here(store).subtracting(try Self.named(in: store, &known))
            guard left.isEmpty else {
                throw story.failure("\(name) keeps files that nothing names", left.sorted())
            }
            let folder = store.assets.folder
            guard folder.incomingCount == 0, lost.isSuperset(of: folder.partialNames) else {
                throw story.failure("\(name) keeps parts of files", folder.partialNames)
            }
            let report = try await store.assets.verify()
            guard report.corrupt.isEmpty, report.orphans == 0, lost.isSuperset(of: report.missing)
            else {
                throw story.failure("The files of \(name) are not consistent", ["\(report)"])
            }
        }
        try await open(try Self.held(in: fresh), in: fresh, "A fresh device")
        // What has a receipt is kept until that ends, whether it is used or not.
        cloud.expireReceipts()
        cloud.collectFiles()
        let (kept, held) = cloud.fileChecksums
        guard kept == held else {
            throw story.failure(
                "The service keeps other files than its records hold",
                kept.symmetricDifference(held).sorted())
        }
    }

    /// The names of the contents that a device can't have, whatever anybody does: they are only in fields that
    /// were set to stay on it, so that no service could keep them for it, and neither the device nor the
    /// service has them.
    ///
    /// - Parameters:
    ///   - here: The hashes of the contents on the device.
    ///   - held: Those that records of the service hold.
    ///   - linked: The checksums of which the device knows the contents.
    private func lostForAll(
        _ account: LogAccount, _ here: Set<String>, _ held: Set<String>, _ linked: Set<String>
    ) -> Set<String> {
        var (stays, synced): (Set<String>, Set<String>) = ([], [])
        for entry in account.records {
            for (field, value) in entry.fields ?? Fields() {
                for asset in value.files {
                    let content = SimulatedContent.hash(of: asset)
                    let isHere =
                        here.contains(content)
                        && (asset.content != nil || linked.contains(asset.serviceChecksum ?? ""))
                    guard !isHere, !held.contains(content), let key = ContentKey(asset) else {
                        continue
                    }
                    if entry.kept.contains(field) {
                        stays.insert(key.text)
                    } else {
                        synced.insert(key.text)
                    }
                }
            }
        }
        return stays.subtracting(synced)
    }

    private func open(_ assets: [Asset], in store: Store, _ name: String) async throws {
        for asset in assets {
            let content = SimulatedContent.hash(of: asset)
            do {
                try check(try await store.assets.open(asset), content, name)
            } catch let error as SimulationFailure {
                throw error
            } catch {
                throw story.failure(
                    "\(name) can't open a file of a synced record", [content, "\(error)"])
            }
        }
    }
}

extension RecordValue {
    /// The files that the value holds.
    var files: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let elements): elements.flatMap(\.files)
        default: []
        }
    }
}

extension ServiceValue {
    /// The checksums of the files that the value holds.
    var checksums: [String] {
        switch self {
        case .asset(let file): file.fileChecksum.map { [$0] } ?? []
        case .list(let elements, of: .asset): elements.flatMap(\.checksums)
        default: []
        }
    }
}
