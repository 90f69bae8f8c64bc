public import BackstitchCore
import BackstitchLog
public import BackstitchStore
public import Foundation

/// One store for each user, side by side in a folder, so that the data of different users are never
/// mixed.
///
/// The folder of a user's store is the SHA-256 of the user's name, in hexadecimal: the same user
/// finds the same store again, and no path contains a name.
public struct AccountStores: Hashable, Sendable {
    /// The folder that has the stores.
    public let directory: URL

    /// The stores below a folder; it is made when the first store is opened.
    public init(at directory: URL) {
        self.directory = directory
    }

    /// The folder of a user's store.
    ///
    /// - Parameter user: The record name of the user, as `RecordService.currentUser()` gives it.
    public func directory(ofUser user: String) -> URL {
        directory.appendingPathComponent(
            SHA256.hexadecimal(of: Array(user.utf8)), isDirectory: true)
    }

    /// Opens a user's store, which is made if it does not exist.
    ///
    /// - Throws: `inaccessible` if the folder can't be made; what `Store.init(at:schema:)` throws.
    public func open(
        user: String, schema: StoreSchema, configuration: StoreConfiguration = .init()
    ) throws -> Store {
        do {
            try FileManager.default.createDirectory(
                atPath: directory.localPath(), withIntermediateDirectories: true)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(
                .inaccessible,
                "The folder \(directory.path) can't be made (\(error.localizedDescription)). Choose "
                    + "another one, or give the process the right to write there.")
        }
        return try Store(at: directory(ofUser: user), schema: schema, configuration: configuration)
    }
}
