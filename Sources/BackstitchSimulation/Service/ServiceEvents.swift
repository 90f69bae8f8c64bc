import BackstitchCore
import BackstitchTesting

/// What happens to the service from elsewhere: other clients edit, and its operator has trouble.
final class ServiceEvents {
    let cloud: SimulatedCloud
    private let choices: StepChoices
    private let setting: SimulationSetting
    private let story: SimulationStory
    /// The values that other clients wrote, by record and field.
    private(set) var foreignValues: [String: Set<ServiceValue>] = [:]
    private var backup: SimulatedCloud.Snapshot?
    /// Whether it ever lost what it had.
    private(set) var wasRestored = false
    /// The last states that were kept, oldest first.
    private var states: [SimulatedCloud.Snapshot] = []
    private static let statesMax = 3
    /// Whether it ever was put back to an older state, or will be, and nobody was told.
    private(set) var wasRolledBack = false

    init(
        _ cloud: SimulatedCloud, _ choices: StepChoices, _ setting: SimulationSetting,
        _ story: SimulationStory
    ) {
        self.cloud = cloud
        self.choices = choices
        self.setting = setting
        self.story = story
    }

    /// Another client edits a record.
    func foreignEdit(_ fault: SimulationFault) {
        var edit = ForeignEdit(choices.pool, &choices.generator)
        if setting.events.contains(.unknownType) { edit.addUnknownTypes(&choices.generator) }
        perform(edit, fault)
    }

    func perform(_ edit: ForeignEdit, _ fault: SimulationFault) {
        do {
            switch edit.change {
            case .remove:
                try cloud.remove(edit.recordName, in: SimulatedZone.usual)
            case .write(let type, let fields):
                try cloud.write(
                    edit.recordName, type: type, fields: fields, in: SimulatedZone.usual)
                for (name, value) in fields {
                    if case .unknown = value { story.count(.unknownType) }
                    foreignValues["\(edit.recordName).\(name)", default: []].insert(value)
                }
            }
            story.count(fault)
            story.note("somebody else: \(edit.recordName) \(edit.change)")
        } catch {
            // There is no such zone or record, or the record may not go.
            story.note("somebody else: \(edit.recordName) refused, \(error)")
        }
    }

    func deleteZone() {
        cloud.endZone(SimulatedZone.usual, as: .deleted)
        story.count(.zoneDeletedByClient)
        story.note("another client deletes the zone")
    }

    func forgetTombstones() {
        cloud.forgetTombstones(of: SimulatedZone.usual)
        story.count(.tombstoneFloor)
        story.note("the service forgets tombstones")
    }

    func expireTokens() {
        cloud.expireTokens(of: SimulatedZone.usual)
        cloud.expireDatabaseTokens()
        story.count(.tokensExpire)
        story.note("all tokens expire")
    }

    func backUp() {
        backup = cloud.snapshot()
        story.note("the service is backed up")
    }

    func restore() {
        guard let backup else { return story.note("the service has no backup") }
        wasRestored = true
        cloud.restore(to: backup)
        story.count(.restore)
        story.note("the service is put back to its backup")
    }

    func wipe() {
        wasRestored = true
        cloud.wipe()
        story.count(.wipe)
        story.note("the service loses everything")
    }

    func keepState() {
        states.append(cloud.snapshot())
        if states.count > Self.statesMax { states.removeFirst() }
        story.note("the state of the service is kept")
    }

    func rollBack(to state: Int, afterRequests requests: Int) {
        guard !states.isEmpty else { return story.note("no state of the service was kept") }
        wasRolledBack = true
        let place = state % states.count
        cloud.rollBack(to: states[place], afterRequests: requests)
        story.count(.rollback)
        story.note("after \(requests) requests the service is put back to its state \(place)")
    }
}
