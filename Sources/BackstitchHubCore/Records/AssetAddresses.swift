import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

/// Makes and checks the addresses that files are downloaded from.
///
/// Whoever has an address may download: it ends, and it is signed with the hub's key.
struct AssetAddresses: Sendable {
    /// The scheme, host and port of the hub.
    let baseURL: String
    let key: [UInt8]
    /// When addresses that are made end, in milliseconds since 1970.
    let expires: Int64

    /// The partition of the database whose records hold the files.
    let partition: Partition

    /// The value with the addresses of its files.
    func adding(to value: ServiceValue) -> ServiceValue {
        switch value {
        case .asset(var asset):
            guard let file = asset.fileChecksum.flatMap({ HubFile(partition, $0) }) else {
                return value
            }
            asset.downloadURL = address(of: file)
            return .asset(asset)
        case .list(let elements, .asset): return .list(elements.map(adding), of: .asset)
        default: return value
        }
    }

    /// The address of a file; the reader puts a name in place of `${f}`.
    private func address(of file: HubFile) -> String {
        let mac = Self.mac(file, expires, key)
        return "\(baseURL)/asset/1/\(file.text)/\(expires)/\(mac)/${f}"
    }

    /// A name of a record that is good in addresses and tells nothing of it. It is the same for as long
    /// as the record lives, because it follows from what never changes of it.
    func shortGUID(of record: StoredRecord, in zoneName: String) -> String {
        let text = "guid \(record.created) \(record.createdBy) \(zoneName) \(record.recordName)"
        let mac = Digest.hmac(Array(text.utf8), key: key)
        return Data(mac.prefix(16)).base64EncodedString().replacing("+", with: "-")
            .replacing("/", with: "_").replacing("=", with: "")
    }

    /// Whether an address was made with a key and has not ended.
    static func isValid(
        _ file: HubFile, expires: String, mac: String, key: [UInt8], now: Int64
    ) -> Bool {
        guard let expires = Int64(expires), expires > now else { return false }
        return Digest.isEqual(Array(mac.utf8), Array(Self.mac(file, expires, key).utf8))
    }

    private static func mac(_ file: HubFile, _ expires: Int64, _ key: [UInt8]) -> String {
        Digest.hmac(Array("asset \(file.text) \(expires)".utf8), key: key).hexadecimal
    }
}
