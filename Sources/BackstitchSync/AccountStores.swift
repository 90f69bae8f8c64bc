public import BackstitchCore
import BackstitchLog
public import BackstitchStore
import Foundation

/// One store for each user, side by side in a folder, so that data of different users never meet.
///
/// The folder of a user's store is the SHA-256 of the user's name, in hexadecimal: the same user finds
/// the same store again, and no path tells a name.
public struct AccountStores: Hashable, Sendable {
    /// The folder that has the stores.
    public let directory: String

    /// The stores below a folder; it is made when the first store is opened.
    public init(at directory: String) {
        self.directory = directory
    }

    /// The folder of a user's store.
    ///
    /// - Parameter user: The record name of the user, as `RecordService.currentUser()` gives it.
    public func path(ofUser user: String) -> String {
        var folder = directory
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        return (folder == "/" ? "" : folder) + "/" + SHA256.hexadecimal(of: Array(user.utf8))
    }

    /// Opens a user's store, which is made if it does not exist.
    ///
    /// - Throws: `inaccessible` if the folder can't be made; what `Store.init(at:schema:)` throws.
    public func open(
        user: String, schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws -> Store {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
        } catch {
            throw StoreError(
                .inaccessible,
                "The folder \(directory) can't be made (\(error.localizedDescription)). Choose "
                    + "another one, or give the process the right to write there.")
        }
        return try Store(at: path(ofUser: user), schema: schema, configuration: configuration)
    }
}
