import BackstitchLog
import Foundation
import LMDB

/// The folder of a store, or what is to become one, before it is opened.
struct StoreFolder {
    private let path: String

    init(_ path: String) { self.path = path }

    /// Throws unless the folder holds a store that this version can read, and changes nothing.
    func requireStore(_ options: EnvironmentOptions, checksPages: Bool) throws {
        let bytes: [UInt8]?
        do throws(LMDBError) {
            bytes = try EnvironmentFiles(at: path).peek(
                options: options, database: "meta", key: MetaName.catalog,
                visitsAllPages: checksPages)
        } catch {
            switch error.code {
            case .busy: return  // Open in this process, or busy with writers: then it is a store.
            case .notFoundPath:
                let isThere = FileManager.default.fileExists(atPath: path)
                throw StoreError.notAStore(
                    path, isThere ? "has no file data.mdb" : "does not exist")
            case .notADirectory: throw StoreError.notAStore(path, "is a file, not a folder")
            default: throw error
            }
        }
        guard let bytes else {
            throw StoreError.notAStore(path, "holds an LMDB file of another program")
        }
        _ = try CatalogCoding.decode(bytes)
    }

    /// Refuses a folder that has other files and no store; files whose names begin with a dot
    /// don't count.
    func refuseOtherFiles() throws {
        let known: Set = [
            "data.mdb", "lock.mdb", "journal", "sync.lock", "repair.lock", "blobs",
        ]
        // What can't be listed is refused, or made, by the opening.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        guard !names.contains("data.mdb"),
            let other = names.first(where: { !$0.hasPrefix(".") && !known.contains($0) })
        else { return }
        throw StoreError(
            .notAStore,
            "The folder '\(path)' has no store, but other files, such as '\(other)'. Give the "
                + "path of a store, or of a new or empty folder.")
    }

    /// Refuses a path at which no copy of a store can be made.
    ///
    /// - Parameter store: The folder of the store, which the path must not be inside of.
    func requireFree(outside store: String) throws {
        let files = FileManager.default
        let target = URL(fileURLWithPath: path).standardizedFileURL
        func refuse(_ reason: String) -> StoreError {
            StoreError(.invalidTarget, "The store can't be copied to '\(path)': \(reason)")
        }
        if path.isEmpty { throw refuse("the path is empty. Give the path of a new folder.") }
        // A link that leads nowhere is something too.
        if (try? files.attributesOfItem(atPath: target.path)) != nil {
            throw refuse("something is there already. Give the path of a new folder.")
        }
        let parent = target.deletingLastPathComponent().resolvingSymlinksInPath().path
        var isFolder: ObjCBool = false
        guard unsafe files.fileExists(atPath: parent, isDirectory: &isFolder), isFolder.boolValue
        else {
            throw refuse("there is no folder '\(parent)' to make it in. Make that first.")
        }
        let own = URL(fileURLWithPath: store).resolvingSymlinksInPath().path
        if parent == own || parent.hasPrefix(own + "/") {
            throw refuse("that is inside the store itself. Choose a path outside of it.")
        }
    }
}

extension StoreError {
    static func notAStore(_ directory: String, _ reason: String) -> StoreError {
        StoreError(
            .notAStore,
            "There is no store at '\(directory)': it \(reason). Give the path of the "
                + "folder that a program keeps its store in.")
    }
}
