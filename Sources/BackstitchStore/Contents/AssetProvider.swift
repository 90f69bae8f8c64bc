package import BackstitchCore

/// Brings contents here that only the service has.
package protocol AssetProvider: AnyObject, Sendable {
    /// Downloads the content of a file, and returns when the store has it.
    func provide(_ asset: Asset) async throws
}

/// Who downloads for a store. It is not kept alive.
struct AssetProviderSlot: Sendable {
    weak var provider: (any AssetProvider)?
}
