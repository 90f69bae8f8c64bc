import BackstitchCore
import BackstitchLog
public import Foundation
import LMDB

extension Store {
    /// Writes the file of a store anew, so that nothing is in it but what the store has.
    ///
    /// A data file keeps deleted bytes until it needs their space; after ``erase(_:deletesOnService:)``
    /// these are the values that were erased. The new file takes the place of the old one at once, and the
    /// store stays what it was. It is as small as it can be. The blocks of the old file go back to the file
    /// system, which does not overwrite them either; an encrypted disk is the remedy for that.
    ///
    /// No process may have the store open.
    ///
    /// - Throws: `busy` if the store is open, or was written to meanwhile; `notAStore`, `damaged`,
    ///   `newerFormat`, `inaccessible`; `full`: there has to be room for a second file. Nothing is changed
    ///   then.
    /// - Complexity: O(*n*) in the bytes of the store.
    public static func rewriteFile(
        at directory: URL, configuration: StoreConfiguration = .init()
    ) throws {
        try rewriteFile(at: directory.localPath(), configuration: configuration)
    }

    package static func rewriteFile(
        at directory: String, configuration: StoreConfiguration = .init()
    ) throws {
        // What is no store, or damaged, is left as it is.
        try Store.open(
            existing: directory, access: .readWrite, configuration: configuration, checksPages: true
        ).close()
        try StoreError.wrapping {
            try FileRewrite(of: directory, options: EnvironmentOptions(of: configuration)).run()
        }
    }
}
