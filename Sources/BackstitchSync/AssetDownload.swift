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
            let (file, service) = try await address()
            if let failure = await fetch(file, from: service, to: partial, progress) {
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
        _ file: ServiceAsset, from service: any RecordService, to path: String,
        _ progress: @Sendable (Int64) -> Void
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

    /// An address of the content, asked for just before it is used, and the service that has it.
    ///
    /// A zone that is gone, that the user may not read any more, or whose database the service does not have,
    /// keeps no other one from being asked.
    private func address() async throws -> (ServiceAsset, any RecordService) {
        var failures: [ZonePlace: ServiceError] = [:]
        var first: ServiceError?
        for (place, recordName) in try records() where failures[place] == nil {
            do throws(ServiceError) {
                let service = try scope.service(for: place, self.service)
                if let file = try await file(of: recordName, in: place.id, service) {
                    return (file, service)
                }
            } catch {
                let isOfZone = error.code.scope == .zone
                guard isOfZone || [.permissionDenied, .unsupported].contains(error.code) else {
                    throw error
                }
                failures[place] = error
                first = first ?? error
            }
        }
        if let first { throw first }
        throw Self.missing
    }

    /// The content as a field of a record; nil if the service has no such record, or with other files.
    private func file(
        of recordName: String, in zone: ZoneID, _ service: any RecordService
    ) async throws(ServiceError) -> ServiceAsset? {
        switch try await service.lookUpRecords([recordName], in: zone).first {
        case .found(let record)?:
            let fields = record.fields.sorted { $0.key < $1.key }
            return fields.lazy.compactMap { match($0.value) }.first
        case .failed(let error)?: throw error
        case .notFound?, nil: return nil
        }
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
    private func records() throws -> [(place: ZonePlace, recordName: String)] {
        try scope.store.read { transaction in
            let reader = transaction.reader
            let standing = ContentStanding(key, reader)
            var keys: [RecordKey] = []
            func note(_ place: StoredRecordID, _ row: RowView) -> Bool {
                if row.hasChangeTag, !keys.contains(place.key) { keys.append(place.key) }
                return keys.count < Self.recordsMax
            }
            try standing.visitHolders { place, _, row in note(place, row) }
            try standing.visitNamers(note)
            return keys.compactMap { key in
                scope.place(of: key.zone, reader.catalog).map { ($0, key.name.description) }
            }
        }
    }
}
