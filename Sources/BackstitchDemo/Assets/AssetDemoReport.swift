/// What the story of files found, as its JSON output has it.
package struct AssetDemoReport: Encodable {
    /// The distinct files.
    var assets = 0
    /// The bytes of their contents.
    var bytes: Int64 = 0
    /// The uploads that were cut and gone on with.
    var resumed = 0
    /// The bytes of the bodies of all uploads.
    var bytesSent: Int64 = 0
    /// The files that came out as other bytes than went in.
    var hashMismatches = 0
    /// The files that are left although nothing holds them.
    var orphans = 0
    /// Whether both devices hold the same records and files.
    var converged = false
}
