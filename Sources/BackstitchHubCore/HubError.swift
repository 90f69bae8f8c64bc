public import BackstitchCore
import Foundation

/// Why a hub did not do what the program that runs it asked for. What clients are answered is an error
/// of the protocol.
public struct HubError: BackstitchError {
    /// The kinds of failure; new ones may join.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        private init(_ name: String) { description = name }

        /// An argument or a configuration is not possible.
        public static let invalid = Code("invalid")
        /// There is no such hub, container, user or credential.
        public static let notFound = Code("notFound")
        /// Something of the name is there already.
        public static let alreadyExists = Code("alreadyExists")
        /// Another process has the folder, or serves it.
        public static let busy = Code("busy")
        /// The data has a format of another version.
        public static let wrongFormat = Code("wrongFormat")
        /// The data is damaged.
        public static let damaged = Code("damaged")
        /// The disk, the network or the system refused.
        public static let inaccessible = Code("inaccessible")
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened and what to do.
    public let message: String
    /// What another layer said, if the failure comes from there.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message, which says all.
    public var description: String { message }
}
