package import Foundation

extension URL {
    /// The path of a file or folder.
    ///
    /// - Throws: `inaccessible` if the address is not one of a file.
    package func localPath() throws -> String {
        guard isFileURL else {
            throw StoreError(
                .inaccessible,
                "A store needs a file URL, and the scheme of this one is '\(scheme ?? "")'. Give a URL "
                    + "that was made with URL(filePath:).")
        }
        return path
    }
}
