import BackstitchCore
import BackstitchLog
import BackstitchStore

extension SyncConfiguration {
    /// The files that an engine downloads before the application opens them.
    public struct AssetDownloads: Sendable {
        private let isWanted: (@Sendable (_ entity: String, _ field: String, Int64) -> Bool)?

        /// Files come when they are opened.
        public static let onDemand = AssetDownloads(isWanted: nil)

        /// Every file comes soon after its record.
        public static let always = AssetDownloads { _, _, _ in true }

        /// Files come soon after their records if a rule says so; the others when they are opened.
        ///
        /// - Parameter rule: Gets the names of the record's entity and of the field, and the size of the file
        ///   in bytes. It is asked again after each round, for what is not here.
        public static func matching(
            _ rule:
                @escaping @Sendable (_ entity: String, _ field: String, _ byteCount: Int64) -> Bool
        ) -> AssetDownloads { AssetDownloads(isWanted: rule) }

        private init(isWanted: (@Sendable (String, String, Int64) -> Bool)?) {
            self.isWanted = isWanted
        }

        /// The files that are wanted and not here. The values of external attributes always are.
        ///
        /// - Complexity: O(*n*) in the contents that the log names, if any may be wanted.
        func assets(in store: Store) throws -> [Asset] {
            guard isWanted != nil || Self.hasExternal(store) else { return [] }
            let folder = store.assets.folder
            return try store.read { transaction in
                let reader = transaction.reader
                var assets: [Asset] = []
                try ContentReferences(reader).visitAll { key, _ in
                    try ContentStanding(key, reader).visitHolders { place, asset, row in
                        guard row.hasChangeTag, let table = reader.catalog.table(place.entity),
                            let fields = try row.currentFields,
                            try reader.meta.content(of: asset).map(folder.holds) != true
                        else { return true }
                        for (field, value) in fields where value.assets.contains(asset) {
                            guard let attribute = table.attribute(field),
                                attribute.schema?.isExternal == true
                                    || isWanted?(table.name, attribute.name, asset.byteCount)
                                        == true
                            else { continue }
                            assets.append(asset)
                            return false
                        }
                        return true
                    }
                    return true
                }
                return assets
            }
        }

        private static func hasExternal(_ store: Store) -> Bool {
            store.catalogSnapshot.tables.contains { table in
                table.attributes.contains { $0.schema?.isExternal == true }
            }
        }
    }
}
