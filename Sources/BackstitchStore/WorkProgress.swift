/// How often long work tells how far it is.
package enum WorkProgress {
    /// After how many operations or records.
    package static let interval = 4_096
}
