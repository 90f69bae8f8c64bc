import BackstitchCore
import BackstitchLog
import BackstitchStore
import Foundation
import Glibc
import LMDB

/// Brings one content from the service to this device.
struct AssetDownload {
    private let asset: Asset
    private let key: ContentKey
    private let scope: EngineContext
    private let service: any RecordService

    /// How often the content is asked for anew, because an address ended or the bytes were others.
    private static let attemptsMax = 2
    /// The most records that are asked for a content.
    private static let recordsMax = 20

    init(
        _ asset: Asset, _ key: ContentKey, _ scope: EngineContext, _ service: any RecordService
    ) {
        (self.asset, self.key, self.scope, self.service) = (asset, key, scope, service)
    }

    static var missing: StoreError {
        StoreError(
            .assetMissing,
            "Neither this device nor the service has the content of the file. Save the record with "
                + "another file, or add the file again on a device that has it.")
    }

    /// Downloads the content, unless it is here.
    ///
    /// What came before is gone on with. The content counts once its hash was compared and it is on disk.
    func run(progress: @Sendable (Int64) -> Void) async throws {
        let store = scope.store
        if try store.assets.isHere(asset) { return }
        let folder = store.assets.folder
        let (partial, descriptor) = try folder.beginPartial(key)
        defer { FileLease.close(locked: descriptor) }
        var attempt = 1
        while true {
            let file = try await address()
            if let failure = await fetch(file, to: partial, progress) {
                // The address ended while the download waited for its turn.
                let isOver = failure.code == .permissionDenied && attempt < Self.attemptsMax
                guard isOver else { throw failure }
                attempt += 1
                continue
            }
            try Task.checkCancellation()
            let (found, byteCount) = try ContentFolder.hash(ofFileAt: partial)
            guard isRight(found, byteCount) else {
                // Emptied and not removed: the lock is on this file.
                ftruncate(descriptor, 0)
                attempt += 1
                guard attempt <= Self.attemptsMax else { throw corrupt }
                continue
            }
            try ContentFolder.sync(partial)
            try await store.assets.adopt(
                partial, as: found, byteCount: byteCount,
                checksum: file.fileChecksum ?? asset.serviceChecksum)
            return
        }
    }

    private func fetch(
        _ file: ServiceAsset, to path: String, _ progress: @Sendable (Int64) -> Void
    ) async -> ServiceError? {
        do throws(ServiceError) {
            try await service.download(file, to: path, progress: progress)
            return nil
        } catch {
            return error
        }
    }

    private func isRight(_ found: ContentKey, _ byteCount: Int64) -> Bool {
        if asset.content != nil { return found == key }
        return asset.byteCount == 0 || byteCount == asset.byteCount
    }

    private var corrupt: StoreError {
        StoreError(
            .assetCorrupt,
            "The service gives other bytes than the file's hash says. Save the record with the file "
                + "again on a device that has it.")
    }

    /// An address of the content, asked for just before it is used.
    private func address() async throws -> ServiceAsset {
        for recordName in try recordNames() {
            let results = try await service.lookUpRecords([recordName], in: scope.own.id)
            switch results.first {
            case .found(let record)?:
                let fields = record.fields.sorted { $0.key < $1.key }
                if let file = fields.lazy.compactMap({ match($0.value) }).first { return file }
            case .failed(let error)?: throw error
            case .notFound?, nil: continue
            }
        }
        throw Self.missing
    }

    private func match(_ value: ServiceValue) -> ServiceAsset? {
        switch value {
        case .asset(let file):
            guard let found = Asset(file), file.downloadURL != nil else { return nil }
            if found.hasSameContent(as: asset) { return file }
            let content = try? scope.store.assets.content(of: found)
            return content == key ? file : nil
        case .list(let elements, of: .asset):
            return elements.lazy.compactMap { match($0) }.first
        default: return nil
        }
    }

    /// The records that may hold the content on the service: first those that hold it here, then those that
    /// held it, because the service may not know of that edit yet, or is never to.
    private func recordNames() throws -> [String] {
        try scope.store.read { transaction in
            let standing = ContentStanding(key, transaction.reader)
            var names: [String] = []
            func note(_ place: StoredRecordID, _ row: RowView) -> Bool {
                let name = place.key.name.description
                if row.hasChangeTag, !names.contains(name) { names.append(name) }
                return names.count < Self.recordsMax
            }
            try standing.visitHolders { place, _, row in note(place, row) }
            try standing.visitNamers(note)
            return names
        }
    }
}
