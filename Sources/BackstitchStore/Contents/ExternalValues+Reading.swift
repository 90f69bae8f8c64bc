import BackstitchCore
import BackstitchLog
import Foundation
import LMDB

extension ExternalValues {
    /// The contents of a store's files; nil if the store is in memory.
    convenience init?(_ environment: Environment, _ databases: Databases) {
        guard environment.isOnDisk else { return nil }
        let folder = ContentFolder(store: environment.directory)
        self.init { [weak environment] asset in
            guard let environment else { return nil }
            var content = asset.content.flatMap(ContentHash.bytes).map { ContentKey(hash: $0) }
            if content == nil {
                // It came from a service whose checksum is none that is known here.
                content = try environment.read { transaction in
                    try MetaReader(access: transaction.access, database: databases.meta)
                        .content(of: asset)
                }
            }
            guard let content, folder.holds(content) else { return nil }
            let reader = try AssetReader(path: folder.path(content))
            return try reader.read(at: 0, count: Int(reader.byteCount))
        }
    }
}
