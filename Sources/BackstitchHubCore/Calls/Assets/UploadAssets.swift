import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

extension AssetCalls {
    /// Gives out addresses for uploads: `assets/upload`.
    func uploadAssets(
        _ request: UploadRequest, _ call: HubCall, _ access: DatabaseAccess
    ) async throws -> HubResponse {
        _ = try access.requiredAuthor
        try configuration.limits.checkCount(request.places.count)
        let expires = configuration.now + configuration.limits.addressMilliseconds
        let places = try request.places.map { place in
            let name = place.recordName ?? configuration.clock.uuid()
            guard ServiceNames.isRecordName(name), ServiceNames.isIdentifier(place.fieldName) else {
                throw WireError(.badRequest, "An upload takes the names of a record and a field.")
            }
            let secret = configuration.clock.secret(32).hexadecimal
            let token = "\(access.partition.text)-\(secret)"
            return (name: name, field: place.fieldName, token: token)
        }
        let keys = places.map { UploadRow.key(access.partition, token: $0.token) }
        let user = access.name.key.adding([0]).adding(access.author ?? "")
        let (limits, baseURL) = (configuration.limits, address.baseURL)
        let sweep = sweeper.sweep(of: access.partition)
        let (uploads, now) = (uploads, configuration.now)
        return try await once.write(
            call, access,
            expecting: {
                access.expected(zones: [request.zoneID ?? WireZoneID()])
                    + Expiry.expected(in: access.partition)
            }
        ) { transaction in
            let database = try transaction.database(access)
            let zone = try transaction.zone(request.zoneID ?? WireZoneID(), access)
            let bytesLeft = limits.bytesLeft(in: database)
            guard bytesLeft != 0 else { throw WireError.noSpace }
            guard uploads.note(keys, of: user, in: access.partition, limits, now: now) else {
                throw WireError(
                    .throttled,
                    "Too many addresses for uploads are given out. Use them, or save the records that "
                        + "hold the files.", retryAfter: 10)
            }
            for place in places {
                var row = UploadRow(
                    zone: zone.number, recordName: place.name, fieldName: place.field,
                    expires: expires)
                row.bytesMax = bytesLeft
                try transaction.put(row, at: UploadRow.key(access.partition, token: place.token))
            }
            try sweep(transaction)
            let tokens = places.map {
                WireUploadToken(
                    recordName: $0.name, fieldName: $0.field,
                    url: "\(baseURL)/upload/1/\($0.token)")
            }
            return UploadTokensResponse(tokens: tokens).body()
        }
    }
}
