import Foundation
import Glibc

/// Other programs, as children of this process.
///
/// `Foundation.Process` of Swift 6.3 ends this process now and then: it looks for open descriptors, and reads
/// behind the end of the list of them, 256 bytes for each name.
package enum ChildProgram {
    /// The path of this program.
    package static var own: String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
    }

    /// Starts a program. It reads nothing, and holds no signal back.
    ///
    /// - Parameters:
    ///   - words: The path of the program, and its arguments.
    ///   - environment: Names and values, with `=` between them; nil for those of this process.
    ///   - output: Where it writes to.
    ///   - complaint: Where its standard error goes.
    /// - Returns: Its process number. Wait for it (`waitpid`), and send no signal after that: the system may
    ///   give the number to another process.
    /// - Throws: `POSIXError`.
    package static func start(
        _ words: [String], environment: [String]? = nil, output: Int32, complaint: Int32
    ) throws -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, complaint, STDERR_FILENO)
        // The runtime's threads hold signals back, which a child would inherit: then only a kill ends it.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        var variables = unsafe (environment ?? []).map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var number = pid_t()
        let code = unsafe variables.withUnsafeMutableBufferPointer { variables in
            unsafe posix_spawn(
                &number, words[0], &actions, &attributes, &arguments,
                environment == nil ? environ : variables.baseAddress)
        }
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL) }
        return number
    }
}
