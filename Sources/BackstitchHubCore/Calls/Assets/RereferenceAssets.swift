import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

extension AssetCalls {
    /// Gives out receipts for files that records hold, so that others can hold them too:
    /// `assets/rereference`.
    func rereferenceAssets(
        _ request: RereferenceRequest, _ call: HubCall, _ access: DatabaseAccess
    ) async throws -> HubResponse {
        _ = try access.requiredAuthor
        try configuration.limits.checkCount(request.places.count)
        let expires = configuration.now + configuration.limits.addressMilliseconds
        let end = expires + configuration.limits.unusedAssetMilliseconds
        let receipts = request.places.map { _ in configuration.clock.secret(32).hexadecimal }
        let bytesMax = configuration.limits.modifiedBytes
        let (zoneID, zoneNumbers) = (request.zoneID ?? WireZoneID(), zoneNumbers)
        @Sendable func expected(_ place: ZonePlace) -> [KeyQuery] {
            request.places.compactMap(\.recordName).filter(ServiceNames.isRecordName)
                .map { .key(StoredRecord.key(place, $0)) }
        }
        return try await once.write(
            call, access,
            expecting: {
                let place = zoneNumbers.place(of: zoneID.zoneName, in: access.partition)
                return access.expected(zones: [zoneID]) + (place.map(expected) ?? [])
            }
        ) { transaction in
            let zone = try transaction.zone(zoneID, access)
            if transaction.isFar { zoneNumbers.note(zone, in: access.partition) }
            let place = zone.place(in: access.partition)
            transaction.expect { expected(place) }
            try transaction.expect {
                try request.places.compactMap { wanted in
                    let record = try transaction.liveRecord(wanted.recordName ?? "", in: place)
                    guard case .asset(let asset) = try record?.fields()[wanted.fieldName]?.value
                    else { return nil }
                    return HubFile(access.partition, asset.fileChecksum ?? "")
                        .map { .key(AssetRow.key($0)) }
                }
            }
            var bytes = 0
            let items = try zip(request.places, receipts).map { wanted, receipt in
                let name = wanted.recordName ?? ""
                guard bytes <= bytesMax else {
                    return WireItem<ServiceAsset>.failure(.record(name), ModifyBudget.tooMuch)
                }
                let record = try transaction.liveRecord(name, in: place)
                bytes += record?.fieldsJSON.count ?? 0
                guard case .asset(var asset) = try record?.fields()[wanted.fieldName]?.value,
                    let file = HubFile(access.partition, asset.fileChecksum ?? "")
                else {
                    return WireItem<ServiceAsset>.failure(
                        .record(name), WireError(.notFound, "Asset not found"))
                }
                // For any record and field of the zone: that is what the call is for.
                var row = UploadRow(
                    zone: zone.number, recordName: "", fieldName: "", expires: expires)
                row.checksum = asset.fileChecksum
                row.size = asset.size
                try transaction.put(row, at: UploadRow.key(access.partition, receipt: receipt))
                try transaction.keepAsset(file, until: end)
                asset.receipt = receipt
                return .value(asset)
            }
            return AssetsResponse(assets: items).body()
        }
    }
}
